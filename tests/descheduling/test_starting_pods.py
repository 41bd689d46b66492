"""Pods that start take CPU, and figures show it for a while: that alone is no ground to move again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans.complete_counts import CompleteCounts
from ecotone.descheduling.plans.rates import Rates
from ecotone.model import ClusterState
from ecotone.scheduling.profiles.policies import resolve
from ecotone.scheduling.response.graph import applications

ECOTONE = resolve("ecotone")
LATELY, LONG_AGO = NOW - 30.0, NOW - 600.0


def started(state: ClusterState, at: float) -> ClusterState:
    for pod in list(state.usage.pods()):
        state.put_pod(replace(pod, bound_at=at))
    return state


def moves(state: ClusterState, *, reach: float = 0.0) -> list[str]:
    assert ECOTONE.descheduler is not None
    found, _ = deschedule(state.freeze(), ECOTONE, replace(ECOTONE.descheduler, reach=reach))
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


def grown(state: ClusterState, *, since: float) -> ClusterState:
    """As if it had had half of its load until `since`."""
    (now,) = applications(state)
    earlier = ClusterState.of(state.freeze())
    earlier.now = since - 30.0
    half = replace(now, users=now.users / 2, calls=tuple(replace(call, rate=call.rate / 2) for call in now.calls))
    memory: dict[str, object] = {}
    for moment, measured in ((since - 30.0, half), (since, now)):
        earlier.now, earlier.memory = moment, memory
        rates = Rates(earlier)
        rates.note(measured)
        memory = rates.write(memory)
    for moment in (NOW - 150.0, NOW - 90.0, NOW - 30.0):  # its calls are all counted
        counts = CompleteCounts(memory, now=moment, reach=120.0)
        counts.note(now)
        memory = counts.write(memory)
    state.memory = memory
    return state


def test_a_start_counts_for_as_long_as_figures_reach_back() -> None:
    steady = NOW - 40.0  # for as long as it had taken to change
    assert moves(grown(crowded(NOW - 90.0), since=steady))
    assert moves(grown(crowded(NOW - 90.0), since=steady), reach=120.0) == []
    assert moves(grown(crowded(NOW - 150.0), since=steady), reach=120.0)


def test_while_its_load_changes_cpu_of_a_window_is_no_ground_to_move() -> None:
    assert moves(grown(crowded(LONG_AGO), since=NOW - 10.0))
    assert moves(grown(crowded(LONG_AGO), since=NOW - 10.0), reach=120.0) == []
    assert moves(grown(crowded(LONG_AGO), since=NOW - 40.0), reach=120.0)


def test_shorter_ways_need_not_wait_for_a_load_that_changes() -> None:
    assert moves(grown(far_away(LONG_AGO), since=NOW - 10.0), reach=120.0) == ["default/web-0"]


def test_cpu_that_figures_of_a_window_may_be_wrong_by_is_no_ground_to_move() -> None:
    """Both services on one slow node take a fifth longer than apart: more than a plan must save, less than figures vary."""

    def slightly_crowded() -> ClusterState:
        state = nodes("one", "two", rtt=0.1, cpu=200)
        put(state, "web", ["one"], calls={"api": 10.0}, users={"one": 10.0}, cpu=20, use=24.0)
        put(state, "api", ["one"], cpu=20, use=24.0)
        return grown(started(state, LONG_AGO), since=NOW - 40.0)

    assert moves(slightly_crowded())
    assert moves(slightly_crowded(), reach=120.0) == []
