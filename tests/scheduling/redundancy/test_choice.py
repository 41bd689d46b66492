"""Where waiting pods may go so that their workload survives the loss of a node, or of a zone where one is near."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import ZONE, cluster, labelled, node, pod
from ecotone.model.decisions import Bind
from ecotone.model.objects import Node, Pod, Workload, WorkloadKey
from ecotone.model.selectors import SpreadConstraint
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide
from ecotone.scheduling.redundancy.choice import GIVEN_UP

BETWEEN = {("a", "b"): 3.0, ("a", "c"): 40.0, ("b", "c"): 40.0}


def nodes(*names: str) -> list[Node]:
    """`a1` is in zone a, and so on; a and b are near each other, c is far away."""
    return [
        node(
            name, zone=name[0], available_cpu=4000.0, available_memory=float(1 << 33),
            latencies={
                other: 2.0 if other[0] == name[0] else BETWEEN[min(name, other)[0], max(name, other)[0]]
                for other in names if other != name
            },
        )
        for name in names
    ]  # fmt: skip


def web(
    *names: str, replicas: int, users: str = "a1", redundancy: str | None = None, placed: tuple[str, ...] = (), **spec: object
) -> ClusterState:  # fmt: skip
    """Replicas that wait, beside those that are placed; all users are at one node."""
    pods = [pod(f"web-{number}", node=home, cpu="100m", spec=spec) for number, home in enumerate(placed)]
    pods += [pod(f"web-{number}", cpu="100m", spec=spec) for number in range(len(placed), replicas)]
    talk = {f"users@{users}": 10.0}
    workload = Workload(
        WorkloadKey("default", "web"), replicas=replicas, traffic=dict.fromkeys(talk, 1000.0), requests=talk,
        selector=labelled(app="web"), redundancy=redundancy,
    )  # fmt: skip
    return cluster(nodes(*names), pods, workloads=(workload,))


def placed(state: ClusterState, policy: str = "ecotone", *, batch: bool = True) -> list[str]:
    found = [each for each in decide(state.freeze(), policy, batch=batch).decisions if isinstance(each, Bind)]
    return sorted([*(each.node for each in found), *(each.node or "" for each in state.usage.pods())])


def test_two_replicas_stand_in_two_zones_that_are_near() -> None:
    assert placed(web("a1", "a2", "b1", "c1", replicas=2)) == ["a1", "b1"]


def test_by_milliseconds_alone_they_stand_beside_their_users() -> None:
    assert placed(web("a1", "a2", "b1", "c1", replicas=2), "ecotone-fast") == ["a1", "a1"]


def test_where_no_zone_is_near_two_nodes_will_do() -> None:
    assert placed(web("a1", "a2", "c1", replicas=2)) == ["a1", "a2"]


def test_further_replicas_go_where_they_are_fastest() -> None:
    assert placed(web("a1", "a2", "b1", "c1", replicas=5)).count("b1") == 1


@pytest.mark.parametrize(
    ("declared", "expected"), [("none", ["a1", "a1"]), ("node", ["a1", "a2"]), ("zone", ["a1", "c1"])]
)
def test_owners_may_say_otherwise(declared: str, expected: list[str]) -> None:
    assert placed(web("a1", "a2", "c1", replicas=2, redundancy=declared)) == expected


@pytest.mark.parametrize("how", ["ScheduleAnyway", "DoNotSchedule"])
def test_a_spread_over_zones_is_kept_hard_or_soft(how: str) -> None:
    spread = (SpreadConstraint(1, ZONE, how, labelled(app="web")),)
    assert {name[0] for name in placed(web("a1", "a2", "b1", "c1", replicas=3, spread=spread))} == {"a", "b", "c"}


def test_a_skew_of_two_asks_three_replicas_for_two_zones() -> None:
    spread = (SpreadConstraint(2, ZONE, "ScheduleAnyway", labelled(app="web")),)
    assert {name[0] for name in placed(web("a1", "a2", "b1", "c1", replicas=3, spread=spread))} == {"a", "b"}


def test_those_that_are_there_count() -> None:
    assert placed(web("a1", "a2", "b1", replicas=2, placed=("a1",))) == ["a1", "b1"]


def test_replicas_of_another_revision_will_be_gone_and_do_not_count() -> None:
    state = web("a1", "a2", "c1", replicas=2, placed=("a2",))
    for each in list(state.usage.pods()):
        state.put_pod(_revised(each, "old"))
    for each in list(state.pending.values()):
        state.put_pod(_revised(each, "new"))
    assert placed(state) == ["a1", "a2"]


def _revised(given: Pod, revision: str) -> Pod:
    return replace(given, kind=replace(given.kind, labels=(*given.kind.labels, ("pod-template-hash", revision))))


def test_a_pod_is_worth_more_than_its_redundancy_and_that_is_said() -> None:
    state = web("a1", "a2", replicas=2)
    state.put_pod(pod("big-0", node="a2", cpu="4"))
    decisions = decide(state.freeze(), "ecotone").decisions
    first, second = (each for each in decisions if isinstance(each, Bind))
    assert GIVEN_UP not in first.why
    assert second.why.endswith(
        "redundancy is given up: its replicas are on 1 node instead of 2, as no other one takes it"
    )


def test_a_near_zone_without_room_is_given_up_and_that_is_said() -> None:
    state = web("a1", "a2", "b1", replicas=2)
    state.put_pod(pod("big-0", node="b1", cpu="4"))
    decisions = decide(state.freeze(), "ecotone").decisions
    (said,) = [each.why for each in decisions if isinstance(each, Bind) and GIVEN_UP in each.why]
    assert "its replicas are in 1 zone instead of 2" in said
    assert placed(state)[:2] == ["a1", "a2"]


def test_of_a_single_node_nothing_is_to_be_said() -> None:
    whys = [each.why for each in decide(web("a1", replicas=2).freeze(), "ecotone").decisions if isinstance(each, Bind)]
    assert len(whys) == 2 and not any(GIVEN_UP in why for why in whys)


@pytest.mark.parametrize("replicas", [2, 3, 7])
def test_a_batch_decides_as_pod_by_pod(replicas: int) -> None:
    spread = (SpreadConstraint(2, ZONE, "ScheduleAnyway", labelled(app="web")),)
    for asked in ((), spread):
        state = web("a1", "a2", "b1", "c1", replicas=replicas, spread=asked)
        assert placed(state) == placed(state, batch=False)
