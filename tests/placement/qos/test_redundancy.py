"""Promises and redundancy: both are kept where both can be, and a promise that needs it gives redundancy up and says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from builders import cluster, node
from ecotone.descheduling import deschedule
from ecotone.descheduling.steps import Step, StepPlan, from_memory
from ecotone.model.decisions import Evict
from ecotone.model.state import ClusterState
from ecotone.placement.qos.model import CountsModel
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.solve import heuristic, solve
from ecotone.placement.qos.spread import Spread
from ecotone.scheduling.redundancy.choice import GIVEN_UP
from placement.qos.test_rule import of, promised


def state_of(edge: dict[str, str], homes: list[str], *, share: float = 1.0) -> ClusterState:
    """Edge nodes with so many cores, two clouds, and the replicas of one workload."""
    nodes = [node(name, cpu=cpu, memory="64Gi", tier="edge") for name, cpu in edge.items()]
    nodes += [node(name, cpu="32", memory="64Gi", tier="cloud") for name in ("cloud-a", "cloud-b")]
    pods = [of(f"web-{number}", home) for number, home in enumerate(homes)]
    return cluster(nodes, pods, workloads=[promised("web", share, replicas=len(homes))])


def rounds(state: ClusterState, policy: str = "ecotone") -> tuple[list[str], list[str]]:
    """Where the pods are in the end, and what was said on the way."""
    said = []
    for _ in range(8):
        found, memory = deschedule(state.freeze(), policy)
        state.memory = dict(memory)
        state.now += 20.0
        for move in found:
            if isinstance(move, Evict):
                said.append(move.why)
                pod = state.lift(move.pod)
                assert pod is not None
                state.put_pod(replace(pod, name=f"{pod.name}x", uid=f"{pod.uid}x", node=move.target))
    return sorted(pod.node or "" for pod in state.usage.pods()), said


def test_a_promise_is_kept_on_two_nodes_where_there_are_two() -> None:
    where, said = rounds(state_of({"edge-0": "4", "edge-1": "4"}, ["cloud-a", "cloud-b"]))
    assert where == ["edge-0", "edge-1"]
    assert not any(GIVEN_UP in why for why in said)


def test_a_promise_that_one_node_alone_can_keep_gives_redundancy_up_and_says_so() -> None:
    where, said = rounds(state_of({"edge-0": "4"}, ["cloud-a", "cloud-b"]))
    assert where == ["edge-0", "edge-0"]
    assert said and all(GIVEN_UP in why and "would miss its QoS target" in why for why in said)


def test_by_milliseconds_alone_nothing_is_said() -> None:
    where, said = rounds(state_of({"edge-0": "4"}, ["cloud-a", "cloud-b"]), "ecotone-fast")
    assert where == ["edge-0", "edge-0"]
    assert not any(GIVEN_UP in why for why in said)


def test_half_a_promise_needs_no_more_than_half_of_the_pods() -> None:
    where, said = rounds(state_of({"edge-0": "4"}, ["cloud-a", "cloud-b"], share=0.5))
    assert len(set(where)) == 2 and "edge-0" in where
    assert not any(GIVEN_UP in why for why in said)


def problem(spread: Spread | None) -> Problem:
    """One service of four pods: three nodes where it is fast, one where it is slow, two zones."""
    return replace(
        Problem.of(
            size=np.array([[1.0]]), capacity=np.full((4, 1), 8.0), latency=np.array([[10.0, 20.0, 30.0, 300.0]]),
            target=np.array([5.0]), pods=np.array([4]), current=np.array([[0, 0, 1, 3]]),
        ),
        spread=spread,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("nodes", "zones", "best"),
    [(0, 0, [4, 0, 0, 0]), (2, 0, [3, 1, 0, 0]), (3, 0, [2, 1, 1, 0]), (2, 2, [3, 0, 1, 0]), (4, 2, [1, 1, 1, 1])],
)
def test_the_model_keeps_as_many_nodes_and_zones_as_are_asked_for(nodes: int, zones: int, best: list[int]) -> None:
    spread = Spread(np.array([nodes]), np.array([zones]), np.array([0, 0, 1, 1]))
    asked = problem(spread)
    assert solve(asked).x.tolist() == [best]
    assert CountsModel(asked).problem is asked
    found = heuristic(asked).x
    assert not asked.violations(found)


def test_a_part_is_asked_for_what_is_missing_elsewhere() -> None:
    spread = Spread(np.array([3]), np.array([2]), np.array([0, 0, 1, 1]))
    x = np.array([[0, 0, 1, 3]])
    part = problem(spread).part(x, nodes=np.array([0, 1]), services=np.array([0]))
    assert part.spread is not None
    assert (part.spread.nodes.tolist(), part.spread.zones.tolist()) == ([1], [1])


def test_what_was_agreed_survives_in_the_memory() -> None:
    plan = StepPlan(
        (Step("default/web", "a", "b"),), 1.0, 2.0, 1, ("default/web",), {"default/web": (2, 1)}, ("default/db",)
    )
    assert from_memory(plan.as_memory()) == plan
    assert from_memory({**plan.as_memory(), "least": 3}) == StepPlan()
