"""Pods on nodes that are not ready are replaced elsewhere after a time, if that is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from descheduling.applications import NOW, nodes, put
from ecotone.descheduling import deschedule
from ecotone.model import ClusterState
from ecotone.model.decisions import Evict
from ecotone.model.objects import DisruptionBudget, WorkloadKey
from ecotone.model.selectors import LabelSelector, Taint
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.policies import resolve


def dead(*names: str, seconds: float = 70.0, of: tuple[str, ...] = ("a", "b", "c")) -> ClusterState:
    """A queue with a pod on a and one on b; these nodes have not been ready for so long."""
    state = nodes(*of)
    put(state, "queue", ["a", "b"])
    fail(state, *names, seconds=seconds)
    return state


def fail(state: ClusterState, *names: str, seconds: float = 70.0) -> None:
    taint = Taint("node.kubernetes.io/unreachable", "", "NoSchedule")
    state.set_nodes(
        replace(node, ready=False, unready_since=NOW - seconds, taints=(taint,)) if node.name in names else node
        for node in list(state.nodes.nodes)
    )
    for pod in list(state.usage.pods()):
        if pod.node in names:
            state.put_pod(replace(pod, ready=False))


def moves(state: ClusterState, policy: str = "ecotone", **changes: Any) -> list[Evict]:
    profile = resolve(policy)
    assert profile.descheduler is not None
    given: dict[str, Any] = {"rescue_after": 60.0, **changes}
    settings: DeschedulerSettings = replace(profile.descheduler, **given)
    decided = deschedule(state.freeze(), profile, settings).decisions
    return [each for each in decided if isinstance(each, Evict)]


@pytest.mark.parametrize("policy", ["ecotone", "ecotone-fast"])
def test_the_pod_of_a_dead_node_is_replaced_where_another_node_takes_it(policy: str) -> None:
    (move,) = moves(dead("a"), policy)
    assert (move.pod, move.origin, move.surge) == ("default/queue-0", "a", False)
    assert move.target in {"b", "c"}
    assert move.why == f"a has not been ready for 70 s: its replacement starts on {move.target}"


def test_a_rule_of_single_moves_does_it_too() -> None:
    profile = resolve("ecotone")
    settings = DeschedulerSettings(rescue_after=60.0)
    decided = deschedule(dead("a").freeze(), profile, settings).decisions
    assert [each.pod for each in decided if isinstance(each, Evict)] == ["default/queue-0"]


def test_a_last_replica_needs_no_other_first() -> None:
    state = nodes("a", "b", "c")
    put(state, "store", ["a"])
    fail(state, "a")
    assert [(move.pod, move.surge) for move in moves(state)] == [("default/store-0", False)]


@pytest.mark.parametrize(
    "reason", ["off", "young", "unknown", "half", "full", "volume", "daemon", "stateful", "pinned", "ending", "other"]
)
def test_otherwise_it_is_left_to_kubernetes(reason: str) -> None:
    state = dead("a")
    changes: dict[str, Any] = {}
    pod = state.find_pod("default/queue-0")
    assert pod is not None
    spec = pod.kind.spec
    match reason:
        case "off":
            changes["rescue_after"] = None
        case "young":
            state = dead("a", seconds=50.0)
        case "unknown":
            state.set_nodes(replace(node, unready_since=None) for node in list(state.nodes.nodes))
        case "half":
            state = dead("a", "b", of=("a", "b", "c"))
        case "full":
            state.set_nodes(
                node if node.name == "a" else replace(node, unschedulable=True) for node in list(state.nodes.nodes)
            )
        case "volume":
            state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(spec, claims=("data",)))))
            changes["volume_claims"] = True
        case "daemon":
            state.put_pod(replace(pod, kind=replace(pod.kind, workload=WorkloadKey("default", "queue", "DaemonSet"))))
        case "stateful":
            state.put_pod(replace(pod, kind=replace(pod.kind, workload=WorkloadKey("default", "queue", "StatefulSet"))))
        case "pinned":
            state.put_pod(replace(pod, pinned="it asks to stay"))
        case "ending":
            state.put_pod(replace(pod, deleting=True))
        case "other":
            changes["only"] = frozenset({WorkloadKey("default", "store")})
    assert moves(state, **changes) == []


def test_as_many_as_a_run_may_move_the_most_important_first() -> None:
    state = nodes("a", "b", "c")
    for number in range(4):
        put(state, f"s{number}", ["a"])
    pod = state.find_pod("default/s3-0")
    assert pod is not None
    state.put_pod(replace(pod, kind=replace(pod.kind, spec=replace(pod.kind.spec, priority=7))))
    fail(state, "a")
    assert [move.pod for move in moves(state, max_moves=2)] == ["default/s3-0", "default/s0-0"]


def test_a_budget_that_the_dead_pod_has_used_up_does_not_keep_it() -> None:
    """It is not healthy, so that it leaves takes nothing from its budget; the API server has the last word."""
    state = dead("a")
    state.set_budgets([DisruptionBudget("default", "keep", LabelSelector.of_labels({"app": "queue"}), 0)])
    assert len(moves(state)) == 1


def test_replacements_do_not_share_room_that_is_there_once() -> None:
    state = nodes("a", "b", "c", small={"a": 4000, "b": 500, "c": 500})
    for number in range(3):
        put(state, f"s{number}", ["a"], cpu=400)
    fail(state, "a")
    assert sorted(move.target for move in moves(state)) == ["b", "c"]
