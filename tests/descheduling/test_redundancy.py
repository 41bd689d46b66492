"""Redundancy in plans: what moves, what stays apart, how it goes, and what owners may declare instead."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import ZONE, labelled
from descheduling.applications import chain, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import under_way
from ecotone.model import ClusterState, Evict
from ecotone.model.selectors import SpreadConstraint

ZONES = {"a": "zone-a", "b": "zone-b", "c": "zone-c"}


def evictions(state: ClusterState, policy: str = "ecotone") -> list[Evict]:
    found, memory = deschedule(state.freeze(), policy)
    state.memory = dict(memory)
    return [each for each in found if isinstance(each, Evict)]


def settled(state: ClusterState, policy: str = "ecotone") -> dict[str, list[str]]:
    """Rounds until nothing moves; where the pods of each workload are then."""
    for _ in range(8):
        for move in evictions(state, policy):
            pod = state.find_pod(move.pod)
            assert pod is not None
            state.last_moves[pod.kind.workload] = state.now
            state.drop_pod(pod.key)
            state.put_pod(replace(pod, name=f"{pod.name}x", uid=f"{pod.uid}x", node=move.target))
    assert not under_way(state.memory)
    found: dict[str, list[str]] = {}
    for pod in state.usage.pods():
        found.setdefault(pod.kind.workload.name, []).append(pod.node or "")
    return {name: sorted(places) for name, places in found.items()}


def three_zones(*, soft: bool) -> ClusterState:
    """Three services with three replicas, one in each of three zones 3 ms apart; all users are in one of them."""
    state = nodes("a", "b", "c", rtt=3.0, zones=ZONES)
    chain(state, ["a", "b", "c"], users={"a": 10.0})
    for pod in list(state.usage.pods()):
        app = labelled(app=pod.kind.workload.name)
        spread = (SpreadConstraint(1, ZONE, "ScheduleAnyway", app),) if soft else ()
        spec = replace(pod.kind.spec, spread=spread)
        state.put_pod(replace(pod, kind=replace(pod.kind, spec=spec)))
    return state


def without_figures(state: ClusterState) -> None:
    """Traffic is no longer measured."""
    for workload in list(state.workloads.values()):
        state.put_workload(
            replace(workload, traffic=None, requests=None, calls=None, cpu_usage=None, memory_usage=None)
        )


@pytest.mark.parametrize("soft", [True, False])
@pytest.mark.parametrize("gone", [True, False])
def test_nine_pods_keep_their_three_zones(soft: bool, gone: bool) -> None:
    state = three_zones(soft=soft)
    if gone:
        without_figures(state)
    assert settled(state) == {name: ["a", "b", "c"] for name in ("web", "api", "store")}


def test_by_milliseconds_alone_they_gather_at_their_users() -> None:
    assert settled(three_zones(soft=True), "ecotone-fast") == {name: ["a"] * 3 for name in ("web", "api", "store")}


def test_two_of_a_workload_follow_its_users_as_far_as_two_nodes_let_them() -> None:
    state = nodes("near", "beside", "far", rtt=80.0)
    _bring_near(state, "near", "beside", 2.0)
    chain(state, ["far", "far"], users={"near": 10.0})
    assert settled(state) == {name: ["beside", "near"] for name in ("web", "api", "store")}


def test_near_first_makes_a_distant_second_replica_free() -> None:
    state = nodes("near", "far", rtt=80.0)
    chain(state, ["far", "far"], users={"near": 10.0}, near="PreferSameNode")
    assert settled(state) == {name: ["far", "near"] for name in ("web", "api", "store")}


def test_a_second_zone_is_wanted_only_where_one_is_near() -> None:
    names = {"near-1": "edge", "near-2": "edge", "far-1": "region", "far-2": "region"}
    state = nodes(*names, rtt=60.0, zones=names)
    _bring_near(state, "near-1", "near-2", 1.0)
    _bring_near(state, "far-1", "far-2", 1.0)
    put(state, "web", ["far-1", "far-2"], users={"near-1": 10.0})
    assert settled(state) == {"web": ["near-1", "near-2"]}


def test_what_a_spread_asks_for_is_kept_however_far() -> None:
    names = {"near-1": "edge", "near-2": "edge", "far-1": "region", "far-2": "region"}
    state = nodes(*names, rtt=60.0, zones=names)
    _bring_near(state, "near-1", "near-2", 1.0)
    put(state, "web", ["far-1", "far-2"], users={"near-1": 10.0})
    _ask(state, "ScheduleAnyway")
    assert len({names[node] for node in settled(state)["web"]}) == 2


@pytest.mark.parametrize(
    ("declared", "expected"), [("none", ["a", "a", "a"]), ("node", ["a", "a", "a2"]), ("zone", ["a", "a", "b"])]
)
def test_owners_may_ask_for_less_or_for_more(declared: str, expected: list[str]) -> None:
    names = {"a": "zone-a", "a2": "zone-a", "b": "zone-b", "c": "zone-c"}
    state = nodes(*names, rtt=8.0, zones=names)
    _bring_near(state, "a", "a2", 1.0)
    put(state, "web", ["a2", "b", "c"], users={"a": 10.0})
    key = next(iter(state.workloads))
    state.put_workload(replace(state.workloads[key], redundancy=declared))
    assert settled(state) == {"web": expected}


def test_fewer_replicas_want_fewer_nodes() -> None:
    """Scaled down from three to two: what is left may gather on two nodes."""
    state = nodes("near", "beside", "far", "farther", rtt=80.0)
    _bring_near(state, "near", "beside", 2.0)
    put(state, "web", ["far", "farther"], users={"near": 10.0})
    assert settled(state) == {"web": ["beside", "near"]}


def test_who_would_leave_the_others_on_one_node_goes_after_its_replacement_has_come() -> None:
    state = nodes("near", "beside", "far", rtt=80.0, small={"near": 150})
    _bring_near(state, "near", "beside", 2.0)
    put(state, "web", ["far", "beside", "beside"], users={"near": 10.0}, use=1.0)
    (move,) = evictions(state)
    assert (move.origin, move.target) == ("far", "near")
    assert move.surge, "beside alone would serve meanwhile"


def test_a_replica_far_away_from_two_others_is_evicted_as_ever() -> None:
    state = nodes("near", "beside", "far", rtt=80.0)
    _bring_near(state, "near", "beside", 2.0)
    put(state, "web", ["far", "near", "beside"], users={"near": 10.0}, use=1.0)
    key = next(iter(state.workloads))
    state.put_workload(replace(state.workloads[key], redundancy="node"))
    moves = evictions(state)
    assert moves
    assert not any(move.surge for move in moves)


def _bring_near(state: ClusterState, one: str, other: str, rtt: float) -> None:
    changed = []
    for node in state.nodes.nodes:
        if node.name in (one, other):
            latencies = {**(node.latencies or {}), other if node.name == one else one: rtt}
            node = replace(node, latencies=latencies)
        changed.append(node)
    state.set_nodes(changed)


def _ask(state: ClusterState, how: str) -> None:
    for pod in list(state.usage.pods()):
        spread = (SpreadConstraint(1, ZONE, how, labelled(app=pod.kind.workload.name)),)
        state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, spread=spread))))


def test_who_makes_way_for_a_pod_that_fits_nowhere_stays_on_two_nodes_or_says_that_it_does_not() -> None:
    """A large pod fits on `b` alone, if web leaves it; web's other replica is on `a`, and `c` may have room or not."""
    for room, expected in ((1000, "c"), (50, "a")):
        state = nodes("a", "b", "c", rtt=2.0, small={"a": 1000, "b": 1000, "c": room})
        put(state, "web", ["a", "b"], cpu=100, use=1.0)
        put(state, "large", ["b"], cpu=950, use=1.0)
        put(state, "other", ["a"], cpu=500, use=1.0)
        if room == 1000:
            put(state, "filler", ["c"], cpu=800, use=1.0)
        there = state.find_pod("default/large-0")
        assert there is not None
        state.put_pod(replace(there, node=None, bound_at=None, ready=False, phase="Pending"))
        (move,) = [each for each in evictions(state) if each.pod.startswith("default/web")]
        assert (move.origin, move.target) == ("b", expected)
        assert ("redundancy is given up" in move.why) == (expected == "a")
