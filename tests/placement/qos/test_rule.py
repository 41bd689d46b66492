"""QoS targets as a rule of descheduling: plans on counts, deletion costs, and everybody else as before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from builders import cluster, node, pod
from ecotone.descheduling import deschedule
from ecotone.descheduling.steps import plan_in
from ecotone.model.decisions import Bind, Decisions, DeletionCost, Evict
from ecotone.model.objects import AppGroup, Pod, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.placement.kubedsm.cluster import Cluster, Move, Node, Service
from ecotone.placement.qos.moves import moves_between, ordered
from ecotone.planning.plan import make_plan, plan_document
from ecotone.scheduling import decide, resolve
from ecotone.scheduling.costs.targets import missed_ms, target_of


def of(name: str, where: str | None = None, **more: Any) -> Pod:
    return pod(name, node=where, cpu="1", memory="1Gi", ready=where is not None, owner="ReplicaSet/x", **more)


def promised(name: str, share: float = 1.0, **more: Any) -> Workload:
    return Workload(WorkloadKey("default", name), edge_share=share, **more)


def state_of(edge: list[str], pods: list[Pod], workloads: list[Workload]) -> ClusterState:
    near = [node(f"edge-{i}", cpu=cpu, memory=f"{cpu}Gi", tier="edge") for i, cpu in enumerate(edge)]
    return cluster([*near, node("cloud", cpu="32", memory="32Gi", tier="cloud")], pods, workloads=workloads)


def moved(found: Decisions) -> list[tuple[str, str]]:
    return [(each.pod, each.target) for each in found.decisions if isinstance(each, Evict)]


def test_a_pod_with_a_target_comes_to_the_edge_and_one_without_stays() -> None:
    state = state_of(["2"], [of("web-0", "cloud"), of("free-0", "cloud")], [promised("web")])
    assert moved(deschedule(state.freeze(), "ecotone")) == [("default/web-0", "edge-0")]


def test_a_move_that_gains_less_than_it_costs_is_not_made() -> None:
    """One of two far pods, of sixty: 4 ms less, and a promise that is broken all the same."""
    pods = [of(f"web-{i}", "edge-0") for i in range(58)] + [of(f"web-{i}", "cloud") for i in (58, 59)]
    state = state_of(["59"], pods, [promised("web")])
    assert moved(deschedule(state.freeze(), "ecotone")) == []
    ours = resolve("ecotone")
    assert ours.descheduler is not None
    eager = replace(ours.descheduler, args={**ours.descheduler.args, "moveCostMs": 1.0})
    assert moved(deschedule(state.freeze(), "ecotone", eager)) == [("default/web-58", "edge-0")]


def test_a_move_that_keeps_a_promise_is_worth_more_than_its_milliseconds() -> None:
    pods = [of(f"web-{i}", "edge-0") for i in range(59)] + [of("web-59", "cloud")]
    state = state_of(["60"], pods, [promised("web")])
    assert moved(deschedule(state.freeze(), "ecotone")) == [("default/web-59", "edge-0")]


def test_a_swap_begins_with_the_pod_that_makes_room() -> None:
    pods = [of("kept-0", "edge-0"), of("kept-1", "cloud"), of("web-0", "cloud"), of("web-1", "edge-0")]
    state = state_of(["2"], pods, [promised("kept", 0.0), promised("web")])
    found = deschedule(state.freeze(), "ecotone")
    assert moved(found) == [("default/kept-0", "cloud")]
    assert [(step.workload, step.target) for step in plan_in(found.memory).steps] == [("default/web", "edge-0")]


def test_pods_on_the_worst_nodes_are_the_first_to_go_when_there_are_fewer() -> None:
    state = state_of(["1"], [of("web-0", "edge-0"), of("web-1", "cloud"), of("free-0", "cloud")], [promised("web")])
    costs = [each for each in deschedule(state.freeze(), "ecotone").decisions if isinstance(each, DeletionCost)]
    assert [(each.pod, each.cost) for each in costs] == [("default/web-0", 100)], "0 is what a pod says anyway"
    state.put_pod(replace(of("web-0", "edge-0"), deletion_cost=100))
    again = deschedule(state.freeze(), "ecotone").decisions
    assert not any(isinstance(each, DeletionCost) for each in again), "written only where it changes"


def test_deletion_costs_are_part_of_a_plan_document() -> None:
    state = state_of(["1"], [of("web-0", "edge-0")], [promised("web")])
    document = plan_document(make_plan(state.freeze(), "ecotone", moves=True))
    (found,) = [each for each in document["decisions"] if each["action"] == "deletion-cost"]
    assert (found["pod"], found["cost"]) == ("default/web-0", 100)


def test_without_targets_the_rule_is_the_one_it_stands_in_front_of() -> None:
    state = state_of(["2"], [of("web-0", "cloud")], [Workload(WorkloadKey("default", "web"))])
    ours = resolve("ecotone").descheduler
    assert ours is not None
    plain = replace(ours, rule=ours.args["then"], args={})
    assert deschedule(state.freeze(), "ecotone") == deschedule(state.freeze(), "ecotone", plain)


def test_new_pods_go_near_until_the_target_is_met() -> None:
    state = state_of(["8"], [of(f"web-{i}") for i in range(4)], [promised("web", 0.5)])
    binds = [each.node for each in decide(state.freeze(), "ecotone").decisions if isinstance(each, Bind)]
    assert binds.count("edge-0") >= 2


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        (Workload(WorkloadKey("default", "web")), None),
        (promised("web", 0.5), 220.0),
        (Workload(WorkloadKey("default", "web"), target_latency_ms=90.0), 90.0),
    ],
)
def test_targets_are_read_from_shares_and_milliseconds(workload: Workload, expected: float | None) -> None:
    state = state_of(["2"], [of("web-0", "edge-0", app_group="shop")], [workload])
    state.app_groups = (AppGroup("default", "shop", tier_latency_ms={"edge": 40.0, "cloud": 400.0}),)
    found = target_of(state, of("web-0", app_group="shop").kind)
    assert (None if found is None else found.promised) == expected


def test_what_one_more_pod_means_for_the_target() -> None:
    state = state_of(["2"], [of("web-0", "edge-0")], [promised("web")])
    missed = missed_ms(state, of("web-1").kind)
    assert missed is not None
    assert missed.tolist() == [0.0, 125.0]


def test_moves_that_wait_for_each_other_take_a_detour() -> None:
    nodes = [Node("a", (1,)), Node("b", (1,)), Node("cloud", (9,), edge=False)]
    now = Cluster.of([Service("x", (1,)), Service("y", (1,))], nodes, [[1, 0, 0], [0, 1, 0]])
    swapped = np.array([[0, 1, 0], [1, 0, 0]])
    found = ordered(now, moves_between(now.placed, swapped))
    assert found == [Move(0, 0, 2), Move(1, 1, 0), Move(0, 2, 1)]
    for move in found:
        assert now.fits(move.service, move.target)
        now = now.after([move])
    assert now.placed.tolist() == swapped.tolist()


def test_a_pod_of_somebody_else_that_waits_for_ever_stops_no_plan() -> None:
    state = state_of(
        ["2"], [of("web-0", "cloud"), of("stuck-0")], [promised("web"), Workload(WorkloadKey("default", "stuck"))]
    )
    assert moved(deschedule(state.freeze(), "ecotone")) == [("default/web-0", "edge-0")]


def test_no_plan_has_more_moves_than_may_begin_now() -> None:
    """Two of three could come to the edge; with one move allowed one comes, and the next 15 s later."""
    pods = [of(f"web-{i}", "cloud") for i in range(3)] + [of(f"shop-{i}", "cloud") for i in range(3)]
    state = state_of(["6"], pods, [promised("web"), promised("shop")])
    ours = resolve("ecotone").descheduler
    assert ours is not None
    slow = replace(ours, args={**ours.args, "moveSeconds": 15.0, "moveBurst": 1})
    first = deschedule(replace(state.freeze(), now=100.0), "ecotone", slow)
    assert len(moved(first)) == 1
    assert plan_in(first.memory).steps == (), "a plan that could not be carried through is not made"
    soon = deschedule(replace(state.freeze(), now=114.0, memory=first.memory), "ecotone", slow)
    assert moved(soon) == []
    later = deschedule(replace(state.freeze(), now=115.0, memory=first.memory), "ecotone", slow)
    assert len(moved(later)) == 1
    assert len(moved(deschedule(state.freeze(), "ecotone"))) == 2, "one of each service at once"
