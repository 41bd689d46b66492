"""Pods that fit nowhere because of where others stand: these make way, if they may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.descheduling.plans import plan as plans_in
from ecotone.model import ClusterState, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.decisions import Evict
from ecotone.model.objects import DisruptionBudget
from ecotone.model.selectors import LabelSelector, NodeAffinity, NodeTerm, Requirement
from ecotone.scheduling.profiles.policies import resolve

ONLY_B = NodeAffinity((NodeTerm(fields=(Requirement("metadata.name", "In", ("b",)),)),))


def waiting(state: ClusterState, name: str, *, within: float, cpu: int = 100) -> None:
    """A pod of the group `shop` that can only run on b."""
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0), node_affinity=ONLY_B)
    key = WorkloadKey("default", name)
    kind = PodKind("default", key, labels=(("app", name),), spec=spec, app_group="shop", max_latency_ms=within)
    state.put_pod(Pod(f"{name}-0", f"u-{name}-0", kind, owner="rs"))


def moves(state: ClusterState, **changes: object) -> list[tuple[str, str, bool]]:
    profile = resolve("ecotone")
    assert profile.descheduler is not None
    settings = replace(profile.descheduler, **changes)  # type: ignore[arg-type]
    decided = deschedule(state.freeze(), profile, settings).decisions
    return [(each.pod, each.target, each.surge) for each in decided if isinstance(each, Evict)]


def queue_on_a() -> ClusterState:
    """A queue on a, and a member that can only run on b and must be near it."""
    state = nodes("a", "b", "c")
    put(state, "queue", ["a"], role="message-queue")
    waiting(state, "reader", within=10.0)
    return state


def test_a_peer_moves_to_where_the_waiting_pod_can_follow() -> None:
    assert moves(queue_on_a()) == [("default/queue-0", "b", True)]


def test_the_plan_says_for_whom_and_survives_the_memory() -> None:
    decisions, memory = deschedule(queue_on_a().freeze(), "ecotone")
    (move,) = decisions
    assert isinstance(move, Evict)
    assert move.why == "makes way: default/reader-0, which fits nowhere now, can then run on b"
    (plan,) = plans_in.read(memory)
    assert plan.rescue == plans_in.Rescue("default/reader-0", "b")
    assert plans_in.read(plans_in.write({}, [plan])) == [plan]


def test_members_that_are_bound_to_the_peer_move_with_it_and_no_others_do() -> None:
    state = queue_on_a()
    put(state, "writer", ["a"], within=10.0)
    put(state, "store", ["a"])
    assert sorted(moves(state)) == [("default/queue-0", "b", True), ("default/writer-0", "b", True)]


def test_replicas_go_one_after_the_other() -> None:
    state = nodes("a", "b", "c")
    put(state, "queue", ["a", "a"], role="message-queue")
    waiting(state, "reader", within=10.0)
    assert [(target, surge) for _, target, surge in moves(state)] == [("b", False)]
    (plan,) = plans_in.read(deschedule(state.freeze(), "ecotone").memory)
    assert [[step.target for step in stage] for stage in plan.stages] == [["b"], ["b"]]


def test_a_second_look_at_the_same_moment_asks_for_the_same() -> None:
    state = queue_on_a()
    assert moves(state) == moves(state)


def test_a_pod_in_the_way_leaves_the_room_within_the_bound() -> None:
    state = nodes("a", "b", "c", cpu=1000)
    put(state, "queue", ["b"], role="message-queue", cpu=100)
    put(state, "store", ["b"], cpu=800)
    waiting(state, "reader", within=10.0, cpu=500)
    assert [(pod, surge) for pod, _, surge in moves(state)] == [("default/store-0", True)]


@pytest.mark.parametrize("reason", ["never", "budget", "cool-down", "scope", "pinned", "unready"])
def test_nobody_moves_who_may_not(reason: str) -> None:
    state = queue_on_a()
    changes: dict[str, object] = {}
    queue = state.find_pod("default/queue-0")
    assert queue is not None
    match reason:
        case "never":
            changes["single_replicas"] = "never"
        case "budget":
            selector = LabelSelector.of_labels({"app": "queue"})
            state.set_budgets([DisruptionBudget("default", "keep", selector, 0)])
        case "cool-down":
            state.last_moves[queue.kind.workload] = NOW - 1.0
        case "scope":
            changes["only"] = frozenset({WorkloadKey("default", "reader")})
        case "pinned":
            state.put_pod(replace(queue, pinned="it asks to stay"))
        case "unready":
            state.put_pod(replace(queue, ready=False))
    assert moves(state, **changes) == []


def test_pods_of_another_namespace_do_not_make_way() -> None:
    state = nodes("a", "b", "c", cpu=1000)
    put(state, "queue", ["b"], role="message-queue", cpu=100)
    put(state, "store", ["b"], cpu=800, group=None)
    store = state.find_pod("default/store-0")
    assert store is not None
    state.drop_pod(store.key)
    elsewhere = replace(store.kind, namespace="other", workload=WorkloadKey("other", "store"))
    state.put_pod(Pod("store-0", "u", elsewhere, node="b", phase="Running", ready=True, owner="rs", bound_at=1.0))
    waiting(state, "reader", within=10.0, cpu=500)
    assert moves(state) == []


def test_a_pod_that_no_placement_helps_moves_nobody() -> None:
    state = queue_on_a()
    put(state, "far", ["a"], within=10.0)
    far = state.find_pod("default/far-0")
    assert far is not None
    state.put_pod(replace(far, pinned="it asks to stay"))  # holds the queue where it is
    assert moves(state) == []


def test_a_pod_that_has_a_node_to_go_to_moves_nobody() -> None:
    state = nodes("a", "b", "c")
    put(state, "queue", ["b"], role="message-queue")
    waiting(state, "reader", within=10.0)
    assert moves(state) == []
