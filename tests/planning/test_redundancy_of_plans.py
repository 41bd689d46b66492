"""What a plan says of redundancy: nodes and zones before and after, what is given up, and what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from descheduling.applications import chain, nodes, put
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.planning.plan import Plan, make_plan, plan_document

ZONES = {"near": "edge", "far-1": "region", "far-2": "region"}


def far_chain(*, near: str | None = None, limit: int | None = None) -> ClusterState:
    """Users are near, all pods are on the two far nodes."""
    state = nodes(*ZONES, rtt=60.0, zones=ZONES)
    chain(state, ["far-1", "far-2"], users={"near": 10.0}, near=near)
    if limit is not None:
        for pod in list(state.usage.pods()):
            state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, cpu_limit=limit))))
    return state


def made(state: ClusterState, policy: str = "ecotone") -> Plan:
    return make_plan(state.freeze(), policy, moves=True)


def test_nodes_and_zones_are_told_before_and_after() -> None:
    document = plan_document(made(far_chain(near="PreferSameNode")))
    assert document["redundancy"]["default/web"] == {"nodes": [2, 2], "zones": [1, 2]}
    assert document["survives"] == {"node": True, "zone": True, "lost": {}, "failing": {}}
    now, after = document["response_ms"]["now"], document["response_ms"]["after"]
    assert after["mean"] < now["mean"] / 2
    assert now["low"] is now["high"] is None


def test_what_milliseconds_alone_would_do_is_told_as_well() -> None:
    document = plan_document(made(far_chain(), "ecotone-fast"))
    assert document["redundancy"]["default/web"] == {"nodes": [2, 1], "zones": [1, 1]}
    assert document["survives"]["lost"]["near"] == ["default/api", "default/store", "default/web"]
    assert document["survives"]["failing"]["near"] == 1.0
    assert document["warnings"] == []


def test_redundancy_costs_what_the_best_placement_without_it_would_save() -> None:
    (price,) = made(far_chain()).prices
    assert price.free < 10.0, "all beside their users"
    assert price.there > 50.0
    (document,) = plan_document(made(far_chain()))["redundancyCosts"]
    assert (document["ms"], document["insteadOfMs"]) == (price.there, price.free)


def test_near_first_routing_gives_it_back_without_a_move() -> None:
    """One replica beside the users and one far away: near-first, the far one stands by."""
    state = nodes(*ZONES, rtt=60.0, zones=ZONES)
    chain(state, ["near", "far-1"], users={"near": 10.0})
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, cpu_limit=400))))
    (price,) = made(state).prices
    assert price.near is not None
    assert price.near.services == ("default/web", "default/api", "default/store")
    assert price.near.ms < 10.0 < price.here
    # Each of two replicas uses 50m; near-first, one of them does the work of both.
    assert price.near.limit == pytest.approx(100.0 / 400.0)
    assert price.near.carried
    assert "25% of its CPU limit" in str(price) and "an autoscaler by average" in str(price)


def test_pods_that_cannot_carry_it_are_told() -> None:
    state = nodes(*ZONES, rtt=60.0, zones=ZONES)
    chain(state, ["near", "far-1"], users={"near": 10.0})
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, cpu_limit=80))))
    (price,) = made(state).prices
    assert price.near is not None and not price.near.carried
    assert "would not do" in str(price)


def test_what_is_given_up_is_a_warning() -> None:
    state = nodes("a", "full", rtt=5.0, small={"full": 100})
    put(state, "big", ["full"], cpu=100, group=None)
    put(state, "web", ["a"], users={"a": 5.0})
    key = next(key for key in state.workloads if key.name == "web")
    state.put_workload(replace(state.workloads[key], replicas=2))
    there = state.find_pod("default/web-0")
    assert there is not None
    state.put_pod(_waiting(there))
    (told,) = made(state).warnings
    assert told.startswith("default/web-1: redundancy is given up: its replicas are on 1 node instead of 2")


def test_who_stands_too_close_together_is_a_warning() -> None:
    state = nodes("a", "b", rtt=5.0)
    put(state, "web", ["a", "a"], users={"a": 5.0})
    assert made(state).warnings == ("default/web: its 2 replicas stand on 1 node, closer together than they should",)


def _waiting(pod: Pod) -> Pod:
    return replace(pod, name="web-1", uid="u-web-1", node=None, bound_at=None, ready=False, phase="Pending")
