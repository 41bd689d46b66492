"""Replicated applications: what is searched, in which order pods go, and what each round asks of the snapshot.

By milliseconds alone: what redundancy adds to that is in `test_redundancy`.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from descheduling.applications import chain, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import under_way
from ecotone.model import ClusterState, Evict
from ecotone.model.objects import DisruptionBudget
from ecotone.model.selectors import LabelSelector
from ecotone.scheduling import DeschedulerSettings
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction


def far_chain(replicas: int = 2) -> ClusterState:
    state = nodes("near", "far", "cloud", rtt=80.0)
    chain(state, ["far"] * replicas, users={"near": 10.0})
    return state


def evictions(state: ClusterState, settings: DeschedulerSettings | None = None) -> list[Evict]:
    found, memory = deschedule(state.freeze(), "ecotone-fast", settings)
    state.memory = dict(memory)
    return [each for each in found if isinstance(each, Evict)]


def carry_out(state: ClusterState, moves: list[Evict], *, ready: bool = True) -> None:
    """As an executor would: the old pods are gone, their replacements where they were meant to be."""
    for move in moves:
        pod = state.find_pod(move.pod)
        assert pod is not None
        state.last_moves[pod.kind.workload] = state.now
        state.drop_pod(pod.key)
        state.put_pod(replace(pod, name=f"{pod.name}x", uid=f"{pod.uid}x", node=move.target, ready=ready))


def where(state: ClusterState) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for pod in state.usage.pods():
        found.setdefault(pod.kind.workload.name, []).append(pod.node or "")
    return {name: sorted(places) for name, places in found.items()}


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
def test_a_replicated_chain_follows_its_users_as_one_plan(replicas: int) -> None:
    state = far_chain(replicas)
    for _ in range(6):
        carry_out(state, evictions(state))
    assert where(state) == {name: ["near"] * replicas for name in ("web", "api", "store")}
    assert not under_way(state.memory)


def test_at_no_time_is_a_workload_without_a_pod() -> None:
    state = far_chain(3)
    moves = evictions(state)
    assert {move.pod.rpartition("-")[0] for move in moves} == {"default/web", "default/api", "default/store"}
    assert len(moves) == 6, "all but one of each"


def test_only_replicas_go_by_surge() -> None:
    assert all(move.surge for move in evictions(far_chain(1)))
    assert not any(move.surge for move in evictions(far_chain(2)))


def test_the_next_stage_waits_until_replacements_are_ready() -> None:
    state = far_chain()
    carry_out(state, evictions(state), ready=False)
    assert evictions(state) == []
    assert under_way(state.memory)
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, ready=True))
    assert len(evictions(state)) == 3


def test_asked_twice_it_answers_the_same() -> None:
    state = far_chain()
    first = evictions(state)
    assert evictions(state) == first
    carry_out(state, first)
    second = evictions(state)
    assert second
    assert evictions(state) == second


def test_a_surge_under_way_is_not_asked_for_again() -> None:
    state = far_chain(1)
    assert len(evictions(state)) == 3
    assert evictions(state) == []
    assert under_way(state.memory)


def test_an_eviction_that_was_refused_is_asked_for_again() -> None:
    state = far_chain()
    refused, *rest = evictions(state)
    carry_out(state, rest)
    assert [move.pod for move in evictions(state)] == [refused.pod]


def test_replacements_that_never_come_end_the_plan() -> None:
    state = far_chain()
    carry_out(state, evictions(state), ready=False)
    state.now += 139.0
    assert evictions(state) == []
    assert under_way(state.memory), "two stages of 10 s for the start and 60 s of patience"
    state.now += 2.0
    assert evictions(state) == []
    assert not under_way(state.memory)


def test_a_workload_that_is_scaled_ends_the_plan() -> None:
    state = far_chain()
    carry_out(state, evictions(state))
    key = next(key for key in state.workloads if key.name == "web")
    state.put_workload(replace(state.workloads[key], replicas=4))
    evictions(state)
    assert not under_way(state.memory)


def test_the_replica_more_of_its_own_surge_does_not_end_the_plan() -> None:
    state = far_chain(1)
    assert all(move.surge for move in evictions(state))
    for key, workload in list(state.workloads.items()):
        state.put_workload(replace(workload, replicas=2))
        assert workload.replicas == 1, key
    evictions(state)
    assert under_way(state.memory)


def test_disruption_budgets_bind_every_stage() -> None:
    state = far_chain(3)
    web = LabelSelector.of_labels({"app": "web"})
    state.budgets = (DisruptionBudget("default", "web", web, allowed=1),)
    assert sum(move.pod.startswith("default/web") for move in evictions(state)) == 1


def test_a_budget_of_nothing_keeps_its_workload() -> None:
    state = far_chain(3)
    state.budgets = (DisruptionBudget("default", "web", LabelSelector.of_labels({"app": "web"}), allowed=0),)
    assert not any(move.pod.startswith("default/web") for move in evictions(state))


def test_near_first_splits_replicas_over_the_users_sites() -> None:
    state = nodes("one", "two", "cloud", rtt=60.0)
    chain(state, ["cloud"] * 2, users={"one": 10.0, "two": 10.0}, near="PreferSameNode")
    for _ in range(4):
        carry_out(state, evictions(state))
    assert where(state) == {name: ["one", "two"] for name in ("web", "api", "store")}


def test_near_first_follows_demand() -> None:
    state = nodes("one", "two", "cloud", rtt=60.0, cpu=2000)
    put(state, "web", ["cloud"] * 4, users={"one": 30.0, "two": 10.0}, near="PreferSameNode", use=100.0)
    for _ in range(4):
        carry_out(state, evictions(state))
    assert where(state)["web"].count("one") >= where(state)["web"].count("two") >= 1


def test_uniform_balancing_gathers_on_one_site() -> None:
    state = nodes("one", "two", "cloud", rtt=60.0)
    chain(state, ["cloud"] * 2, users={"one": 11.0, "two": 10.0})
    for _ in range(4):
        carry_out(state, evictions(state))
    assert where(state) == {name: ["one", "one"] for name in ("web", "api", "store")}


def test_an_edge_that_is_too_small_is_not_overrun() -> None:
    state = nodes("near", "far", rtt=5.0, small={"near": 1000})
    put(state, "web", ["far"] * 2, users={"near": 100.0}, use=450.0)
    assert evictions(state) == []


def test_another_applications_pods_are_left_alone() -> None:
    state = far_chain()
    put(state, "other", ["far"], users={"far": 5.0}, group="elsewhere")
    for _ in range(4):
        carry_out(state, evictions(state))
    assert where(state)["other"] == ["far"]


def test_a_memory_from_elsewhere_is_no_plan() -> None:
    state = far_chain()
    state.memory = {"plans": [{"stages": "nonsense"}, 7], "descheduling": 3}
    assert len(evictions(state)) == 3


COUNTS = st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4).filter(any), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(COUNTS, st.sampled_from([None, "PreferSameNode", "PreferSameZone"]))
def test_predictions_equal_a_loop_over_callers_and_pods(counts: list[list[int]], near: str | None) -> None:
    names = ("a", "b", "c", "d")
    zones = {"a": "x", "b": "x", "c": "y", "d": "y"}
    state = nodes(*names, rtt=40.0, zones=zones)
    chain(state, ["a"], users={"a": 6.0, "d": 2.0}, near=near)
    (application,) = applications(state)
    order = [application.names.index(("default", name)) for name in ("web", "api", "store")]
    table = np.zeros((1, 3, 4))
    for number, row in zip(order, counts, strict=True):
        table[0, number] = row
    expected = _network_by_hand(counts, names, zones, near)
    prediction = Prediction(application)
    waiting = prediction.cost(table)[0] - expected / 8.0
    assert waiting >= -1e-9, "what is not network is waiting for CPU"
    assert waiting < 40.0


def _network_by_hand(counts: list[list[int]], names: tuple[str, ...], zones: dict[str, str], near: str | None) -> float:
    sent = {"a": 6.0, "d": 2.0}
    total = 0.0
    for row in counts:
        landed = dict.fromkeys(names, 0.0)
        for caller, rate in sent.items():
            pods = [name for name, count in zip(names, row, strict=True) for _ in range(count)]
            same = [name for name in pods if name == caller]
            zone = [name for name in pods if zones[name] == zones[caller]]
            if near == "PreferSameNode" and same:
                pods = same
            elif near is not None and zone:
                pods = zone
            for pod in pods:
                landed[pod] += rate / len(pods)
                total += rate / len(pods) * (0.0 if pod == caller else 40.0)
        sent = landed
    return total


def test_calls_that_nobody_counts_are_at_least_one_for_each_request() -> None:
    """A database's answers are smaller than HTTP's: by bytes alone it would seem to be asked by every third request."""
    state = nodes("near", "cloud", rtt=80.0)
    put(state, "web", ["cloud"] * 2, users={"near": 10.0})
    put(state, "db", ["cloud"])
    for own, peer in (("web", "db"), ("db", "web")):
        workload = next(each for key, each in state.workloads.items() if key.name == own)
        traffic = {**(workload.traffic or {}), peer: 7000.0}
        state.put_workload(replace(workload, traffic=traffic, affinity={peer: 85.0}))
    db = next(pod for pod in state.usage.pods() if pod.kind.workload.name == "db")
    state.put_pod(replace(db, owner=None))  # stays where it is
    assert evictions(state) == []


def test_a_database_behind_a_cache_is_asked_as_seldom_as_its_bytes_say() -> None:
    """Nobody counts calls to either; each request asks the cache, and one in five asks the database far away as well."""
    state = nodes("near", "cloud", rtt=80.0)
    put(state, "web", ["cloud"] * 2, users={"near": 10.0})
    put(state, "cache", ["cloud"] * 2)
    put(state, "db", ["cloud"])
    talk = {"cache": 20_000.0, "db": 4_000.0}
    for own, peers in (("web", talk), ("cache", {"web": talk["cache"]}), ("db", {"web": talk["db"]})):
        workload = next(each for key, each in state.workloads.items() if key.name == own)
        traffic = {**(workload.traffic or {}), **peers}
        state.put_workload(replace(workload, traffic=traffic, affinity=dict.fromkeys(peers, 85.0)))
    db = next(pod for pod in state.usage.pods() if pod.kind.workload.name == "db")
    state.put_pod(replace(db, owner=None))  # stays where it is
    for _ in range(4):
        carry_out(state, evictions(state))
    assert where(state) == {"web": ["near"] * 2, "cache": ["near"] * 2, "db": ["cloud"]}


def test_a_workload_that_was_measured_and_is_silent_stays() -> None:
    """Before users come, static affinity alone would send pods about, and back again once somebody asks."""
    state = nodes("near", "far", rtt=80.0)
    put(state, "web", ["near"], calls={"api": 0.0})
    put(state, "api", ["far"])
    for own, peer in (("web", "api"), ("api", "web")):
        workload = next(each for key, each in state.workloads.items() if key.name == own)
        state.put_workload(replace(workload, affinity={peer: 100.0}, traffic={peer: 0.0}))
    assert evictions(state) == []
