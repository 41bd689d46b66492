"""No decision of `ecotone` leaves a workload on fewer nodes, or in fewer zones, than it should have, unless it says so."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import under_way
from ecotone.descheduling.steps import plan_in
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide
from redundant_clusters import bind, die, drawn, move, serving

ROUNDS = 8


def played(seed: int) -> list[str]:
    """A cluster through placements, plans stage by stage, and the deaths of two nodes; what went wrong."""
    cluster, luck = drawn(seed), Random(seed + 1)
    state = cluster.state
    faults: list[str] = []
    had = serving(state)
    for number in range(ROUNDS):
        placed = decide(state.freeze(), "ecotone")
        faults += bind(cluster, list(placed.decisions))
        state.memory = dict(placed.memory)
        state.now += 1.0
        if not under_way(state.memory) and not plan_in(state.memory).steps:
            had = serving(state)
        moved = deschedule(state.freeze(), "ecotone")
        faults += move(cluster, list(moved.decisions), had)
        state.memory = dict(moved.memory)
        if number in (3, 5) and luck.random() < 0.5:
            die(cluster, luck)
            state.now += 400.0
            state.memory = {}
            _refresh(state)
        state.now += 1.0
    return faults


def _refresh(state: ClusterState) -> None:
    """Figures are measured again."""
    state.set_nodes([replace(node, measured_at=state.now) for node in state.nodes.nodes])
    for workload in list(state.workloads.values()):
        if workload.measured_at is not None:
            state.put_workload(replace(workload, measured_at=state.now))


@pytest.mark.parametrize("block", range(4))
def test_no_decision_brings_replicas_closer_together_than_they_should_be(block: int) -> None:
    for seed in range(10 * block, 10 * block + 10):
        assert not played(seed), seed


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_nor_does_any_on_five_hundred_clusters(block: int) -> None:
    for seed in range(50 * block, 50 * block + 50):
        assert not played(seed), seed
