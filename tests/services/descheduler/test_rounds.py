"""Single rounds: what a dry run prints, and what happens when the world has changed since the decision."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ecotone.kube.errors import UnreachableError
from ecotone.kube.writing.eviction import Evicted, EvictionOutcome
from ecotone.manifests import wire
from ecotone.model.objects import Node, Pod, PodKind, PodSpec, Workload, WorkloadKey
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement
from ecotone.services.descheduler.moves import time_text
from ecotone.services.descheduler.writer import Refusal
from services.descheduler.paper import NOW, Paper, chain_of_two, fill, on_both_tiers, put_replica


def one_round(paper: Paper, **spec: Any) -> Paper:
    asyncio.run(paper.descheduler.round("ns/shop", paper.group(**spec)))
    return paper


def history(paper: Paper) -> list[dict[str, Any]]:
    moves: list[dict[str, Any]] = paper.writer.statuses[-1]["moves"]
    return moves


def moving(**options: Any) -> Paper:
    """A cluster on which the first round makes moves."""
    paper = Paper(**options)
    fill(paper, 3)
    return paper


@pytest.mark.lasting
def test_a_dry_run_says_what_a_real_run_does_on_a_hundred_random_clusters() -> None:
    with_moves = 0
    for seed in range(100):
        told = []
        for dry_run in (True, False):
            paper = Paper(dry_run=dry_run)
            fill(paper, seed)
            one_round(paper)
            told.append([line.replace("would move", "moved") for line in paper.told])
            moved = sum(what == "evict" for what, _ in paper.writer.written) + len(paper.surges.begun)
            assert moved == len(paper.told)
        assert told[0] == told[1]
        with_moves += bool(told[0])
    assert with_moves > 30


def test_the_scene_of_these_tests_does_move() -> None:
    paper = one_round(moving())
    assert paper.told
    assert {one["outcome"] for one in history(paper)} == {"Started"}


@pytest.mark.parametrize(
    "outcome", [EvictionOutcome.BUDGET, EvictionOutcome.BUSY, EvictionOutcome.CHANGED, EvictionOutcome.REFUSED]
)
def test_a_refused_eviction_gives_its_place_back(outcome: EvictionOutcome) -> None:
    paper = moving()
    paper.writer.evicts = lambda _: Evicted(outcome, "no")
    one_round(paper)
    evicted = [key for what, key in paper.writer.written if what == "evict"]
    given_back = [name for what, name in paper.writer.written if what == "unreserve"]
    assert evicted
    assert len(given_back) >= len(evicted)
    assert "Started" not in {one["outcome"] for one in history(paper) if not one.get("surge")}


def test_a_target_that_changed_since_the_decision_is_no_target() -> None:
    paper = moving()
    paper.writer.refusal = Refusal("n1 has been cordoned or marked for removal")
    one_round(paper)
    assert not paper.told
    assert not [what for what, _ in paper.writer.written if what == "evict"]
    assert paper.surges.begun == []
    assert all("cordoned" in one["detail"] for one in history(paper))


def test_a_pod_whose_mates_have_gone_is_not_evicted() -> None:
    paper = moving()
    paper.writer.mates = 0
    one_round(paper)
    assert not [what for what, _ in paper.writer.written if what == "evict"]


def test_an_eviction_without_an_answer_counts_as_begun_until_it_is_known() -> None:
    def lost(_: Pod) -> Evicted:
        raise UnreachableError("no answer")

    paper = moving()
    paper.writer.evicts = lost
    one_round(paper)
    evicted = [key for what, key in paper.writer.written if what == "evict"]
    assert evicted
    paper.now = NOW + 6
    one_round(paper)
    outcomes = {one["pod"]: one["outcome"] for one in history(paper) if not one.get("surge")}
    assert outcomes[evicted[0]] == "Refused", "the pod is still there: the eviction never arrived"


@pytest.mark.parametrize(
    ("replaces", "expires", "taken_by", "swept"),
    [
        ("gone", NOW - 1, "", True),
        ("gone", NOW + 60, "", False),
        ("gone", NOW + 60, "somebody", True),
        ("uid-w0-0", NOW + 60, "", True),
    ],
    ids=["expired", "waiting for its pod", "taken", "of a pod that never left"],
)
def test_reservations_that_nothing_waits_for_are_removed(
    replaces: str, expires: float, taken_by: str, swept: bool
) -> None:
    paper = moving(alive="no scheduler")
    paper.reserve(replaces, replaces=replaces, expires=expires, taken_by=taken_by)
    one_round(paper)
    assert (("expire", replaces) in paper.writer.written) == swept


def test_a_forged_reservation_does_not_outlive_a_round() -> None:
    paper = moving(alive="no scheduler")
    paper.reserve("forged", replaces="nobody", expires=NOW + 3600)
    one_round(paper)
    assert ("expire", "forged") in paper.writer.written


@pytest.mark.parametrize(("seen", "moves"), [(80.0, False), (150.0, True), (None, False)])
def test_with_an_objective_it_acts_only_while_that_is_missed(seen: float | None, moves: bool) -> None:
    paper = moving()
    paper.groups.measured("ns/shop", seen)
    one_round(paper, slo=wire.Slo(percentile=95.0, milliseconds=100.0))
    assert bool(paper.told) == moves
    reason = next(one["reason"] for one in paper.writer.statuses[-1]["conditions"] if one["type"] == "Descheduling")
    assert reason == ("Active" if moves else "SLOMet" if seen else "SLOUnknown")


def test_pods_of_other_applications_stay() -> None:
    paper = moving()
    group = paper.group()
    group.spec.name = "another"
    asyncio.run(paper.descheduler.round("ns/shop", group))
    assert not paper.told


def reason(paper: Paper) -> str:
    conditions = paper.writer.statuses[-1]["conditions"]
    return str(next(one["reason"] for one in conditions if one["type"] == "Descheduling"))


def aged(paper: Paper, names: list[str]) -> None:
    """These workloads, idle ones, were measured long ago."""
    for name in names:
        key = WorkloadKey("ns", name)
        paper.cache.put_workload(Workload(key, replicas=0, app_group="shop", measured_at=NOW - 1000))


def test_while_some_measurements_are_old_a_move_must_gain_twice_as_much() -> None:
    settings = wire.DeschedulerSpec(min_gain_milliseconds=60.0)
    fresh = Paper()
    fill(fresh, 7)
    one_round(fresh, descheduler=settings)
    assert [one["predictedGain"] for one in history(fresh)] == [pytest.approx(68.08, rel=0.01)]
    cautious = Paper()
    fill(cautious, 7)
    aged(cautious, ["idle"])
    one_round(cautious, descheduler=settings)
    assert not cautious.told
    assert reason(cautious) == "Active"
    one_round(cautious, descheduler=wire.DeschedulerSpec(min_gain_milliseconds=30.0))
    assert len(cautious.told) == 1


def test_when_most_measurements_are_old_nothing_moves() -> None:
    paper = moving()
    aged(paper, [f"idle-{number}" for number in range(20)])
    one_round(paper)
    assert not paper.told
    assert reason(paper) == "MeasurementsStale"


@pytest.mark.parametrize(
    ("status", "told", "since", "expected"),
    [
        ("False", "Filling", NOW - 20, "MeasurementsFilling"),
        ("False", "Filling", NOW - 400, "Active"),
        ("False", "Missing", NOW - 20, "Active"),
        ("True", "Measured", NOW - 20, "Active"),
        ("False", "Filling", None, "Active"),
    ],
)
def test_the_first_figures_of_a_new_application_are_waited_for(
    status: str, told: str, since: float | None, expected: str
) -> None:
    paper = moving()
    for key, known in list(paper.cache.state.workloads.items()):
        paper.cache.put_workload(Workload(key, replicas=known.replicas, app_group=known.app_group))
    group = paper.group()
    moment = None if since is None else time_text(since)
    group.status["conditions"] = [{"type": "DataFresh", "status": status, "reason": told, "lastTransitionTime": moment}]
    asyncio.run(paper.descheduler.round("ns/shop", group))
    assert reason(paper) == expected


def test_figures_that_are_there_are_not_waited_for_when_a_new_pod_has_none_yet() -> None:
    paper = moving()
    group = paper.group()
    group.status["conditions"] = [
        {"type": "DataFresh", "status": "False", "reason": "Filling", "lastTransitionTime": time_text(NOW - 20)}
    ]
    asyncio.run(paper.descheduler.round("ns/shop", group))
    assert reason(paper) == "Active"
    assert paper.told


def test_after_three_moves_that_made_it_worse_nothing_moves_until_the_break_is_over() -> None:
    paper = moving()
    group = paper.group()
    bad = [
        {
            "at": time_text(NOW - 100 + number), "pod": f"ns/x-{number}", "uid": f"x{number}", "workload": "x",
            "kind": "Deployment", "from": "n0", "to": "n1", "predictedGain": 5.0, "measuredGain": -1.0, "unit": "ms",
            "outcome": "Done",
        }
        for number in range(3)
    ]  # fmt: skip
    group.status["moves"] = bad
    asyncio.run(paper.descheduler.round("ns/shop", group))
    assert not paper.told
    assert reason(paper) == "CircuitBreakerOpen"
    assert "the measured cost rose" in paper.writer.statuses[-1]["breaker"]["message"]
    paper.now = NOW + 250
    asyncio.run(paper.descheduler.round("ns/shop", group))
    assert not paper.told
    paper.now = NOW + 601
    for workload in list(paper.cache.workloads.values()):
        paper.cache.put_workload(replace(workload, measured_at=paper.now))
    for node in paper.cache.nodes.nodes:
        paper.cache.put_node(replace(node, measured_at=paper.now))
    asyncio.run(paper.descheduler.round("ns/shop", group))
    assert paper.told


def test_a_plan_goes_on_when_its_replacements_are_ready_and_is_measured_as_a_whole() -> None:
    paper = chain_of_two(home="n1", entering={"n0": 10.0})
    one_round(paper, run_period=3600, window="1s")  # its calls may not all be counted yet
    paper.now += 2
    for step in range(1, 5):
        asyncio.run(paper.descheduler.tick())
        gone = [key for what, key in paper.writer.written if what == "evict"]
        for key in gone:
            pod = paper.cache.pod(key)
            if pod is not None:
                paper.cache.drop_pod(key)
                put_replica(paper, pod.kind.workload, f"{pod.name}-{step}", node="n0")
        paper.now += 2
    moves = history(paper)
    assert len(moves) == 4, "the second stage did not wait for the period"
    assert {one["outcome"] for one in moves} == {"Done"}
    assert len({one["plan"] for one in moves}) == 1
    for kind in ("predictedGain", "measuredGain"):
        assert sum(one[kind] for one in moves) == pytest.approx(50.0, abs=1.0)


def test_a_pod_that_waits_because_of_where_its_peer_stands_is_made_way_for() -> None:
    """w1 stands on n0; a pod that must be within 10 ms of it can only run on n1, 50 ms away."""
    paper = chain_of_two(home="n0", entering={"n0": 10.0})
    paper.cache.drop_pod("ns/w1-1")
    paper.cache.put_workload(replace(paper.cache.state.workloads[WorkloadKey("ns", "w1")], replicas=1))
    key = WorkloadKey("ns", "reader")
    term = NodeTerm(fields=(Requirement("metadata.name", "In", ("n1",)),))
    spec = PodSpec(requests=(("cpu", 100),), scheduler_name="ecotone", node_affinity=NodeAffinity(required=(term,)))
    deadline = Workload(key, replicas=1, app_group="shop", affinity={"w1": 1.0}, deadlines={"w1": 10.0})
    paper.cache.put_workload(deadline)
    waits = Pod("reader-0", "uid-reader-0", PodKind("ns", key, spec=spec, app_group="shop"), owner="rs", created=NOW)
    paper.cache.put_pod(waits)
    one_round(paper)
    assert any("makes way" in line and "ns/reader-0" in line for line in paper.told), paper.told


def priced(paper: Paper) -> list[str]:
    return [pod for what, pod in one_round(paper).writer.written if what == "price"]


def test_who_goes_first_in_a_scale_down_is_said_but_not_while_a_surge_says_it() -> None:
    """The pod that is replaced is marked as the cheapest: without that mark its replacement goes, again and again."""
    assert priced(on_both_tiers()) == ["ns/w0-edge"]
    paper = on_both_tiers()
    paper.surges.busy = frozenset({WorkloadKey("ns", "w0")})
    assert priced(paper) == []
    paper.surges.busy = frozenset({WorkloadKey("ns", "another")})
    assert priced(paper) == ["ns/w0-edge"]


def failed_node(*, seconds: float = 70.0) -> Paper:
    """A workload with its only pod on n0, which has not been ready for so long; two others are."""
    paper, key = Paper(), WorkloadKey("ns", "w0")
    size = {"cpu": 4000, "memory": 16 << 30, "pods": 110}
    for name in ("n0", "n1", "n2"):
        ready = name != "n0"
        paper.cache.put_node(Node(name, size, ready=ready, unready_since=None if ready else NOW - seconds))
    paper.cache.put_workload(Workload(key, replicas=1, app_group="shop"))
    put_replica(paper, key, "w0-0", node="n0")
    pod = paper.cache.pod("ns/w0-0")
    assert pod is not None
    paper.cache.put_pod(replace(pod, ready=False))
    return paper


@pytest.mark.parametrize("single", ["surge", "never"])
def test_a_pod_on_a_dead_node_is_evicted_and_its_replacements_place_held(single: str) -> None:
    """It serves nobody, so nothing has to be ready before it goes."""
    paper = failed_node()
    paper.writer.mates = 0
    one_round(paper, descheduler=wire.DeschedulerSpec(rescue_after_seconds=60.0, single_replicas=single))
    assert paper.writer.written == [("reserve", "ns/w0-0"), ("evict", "ns/w0-0")]
    assert paper.surges.begun == []
    (move,) = history(paper)
    assert (move["pod"], move["from"], move["outcome"]) == ("ns/w0-0", "n0", "Started")


def test_a_pod_on_a_dead_node_stays_until_its_time_and_where_nobody_asked_for_it() -> None:
    for paper, said in (
        (failed_node(), None),
        (failed_node(seconds=50.0), wire.DeschedulerSpec(rescue_after_seconds=60.0)),
    ):
        one_round(paper, descheduler=said)
        assert paper.writer.written == []


def test_a_refused_rescue_gives_its_place_back_and_says_so() -> None:
    paper = failed_node()
    paper.writer.evicts = lambda _: Evicted(EvictionOutcome.BUDGET, "keep")
    one_round(paper, descheduler=wire.DeschedulerSpec(rescue_after_seconds=60.0))
    assert ("unreserve", "uid-w0-0") in paper.writer.written
    (move,) = history(paper)
    assert move["outcome"] == "Refused"
