"""Pods that start take CPU, and figures show it for a while: that alone is no ground to move again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState

LATELY, LONG_AGO = NOW - 30.0, NOW - 600.0


def started(state: ClusterState, at: float) -> ClusterState:
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, bound_at=at))
    return state


def moves(state: ClusterState) -> list[str]:
    found, _ = deschedule(state.freeze(), "ecotone")
    return sorted(each.pod for each in found)


def crowded(at: float) -> ClusterState:
    """Two services that keep a small node busy, and an idle one next door."""
    state = nodes("one", "two", rtt=1.0, cpu=1000)
    put(state, "web", ["one"], calls={"api": 10.0}, users={"one": 10.0}, use=450.0)
    put(state, "api", ["one"], use=450.0)
    return started(state, at)


def far_away(at: float) -> ClusterState:
    """A service that is far from its users, on nodes with plenty of room."""
    state = nodes("one", "two", rtt=80.0)
    put(state, "web", ["one"], users={"two": 10.0})
    return started(state, at)


def test_a_busy_node_is_left_once_its_figures_are_not_those_of_a_start() -> None:
    assert moves(crowded(LONG_AGO))


def test_a_node_that_looks_busy_while_pods_have_just_started_is_not_left() -> None:
    assert moves(crowded(LATELY)) == []


def test_a_pod_that_took_long_to_become_ready_has_started_when_it_was() -> None:
    state = crowded(LONG_AGO)
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, ready_at=LATELY))
    assert moves(state) == []


@pytest.mark.parametrize("at", [LATELY, LONG_AGO])
def test_shorter_ways_need_not_wait(at: float) -> None:
    assert moves(far_away(at)) == ["default/web-0"]


def unheard(at: float) -> ClusterState:
    """The same crowd on a node without CPU left; of its traffic nothing is measured yet, so its pods are judged one by one."""
    state = crowded(at)
    state.set_nodes(replace(node, available_cpu=10.0 if node.name == "one" else 1000.0) for node in state.nodes.nodes)
    for workload in list(state.workloads.values()):
        state.put_workload(replace(workload, traffic=None, requests=None, calls=None))
    return state


def test_a_pod_that_is_judged_alone_leaves_a_busy_node_only_when_nothing_has_just_started() -> None:
    assert moves(unheard(LONG_AGO))
    assert moves(unheard(LATELY)) == []


def test_what_others_start_on_its_node_keeps_no_pod_there() -> None:
    state = unheard(LONG_AGO)
    put(state, "job", ["one"], group="other", use=0.0)
    other = next(pod for pod in state.usage.pods() if pod.kind.workload.name == "job")
    state.put_pod(replace(other, bound_at=LATELY))
    assert moves(state)
