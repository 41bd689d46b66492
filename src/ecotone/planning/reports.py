"""What a plan shows: figures of the cluster as it is, and as it would be after the decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecotone.descheduling.plans import plan as plans_in
from ecotone.descheduling.steps import plan_in
from ecotone.model.decisions import Bind, Decision, Evict, Preempt
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.objective import figures


def played(snapshot: Snapshot, decisions: Sequence[Decision]) -> ClusterState:
    """The cluster after the decisions, as if all of them had been carried out."""
    state = ClusterState.of(snapshot)
    for each in decisions:
        if isinstance(each, Bind):
            state.assume(state.pending[each.pod], each.node)
        elif isinstance(each, Evict):
            pod = state.lift(each.pod)
            if pod is not None:
                state.assume(pod, each.target)
        elif isinstance(each, Preempt):
            for victim in each.victims:
                state.drop_pod(victim)
            state.assume(state.pending[each.pod], each.node)
    return state


def ended(
    snapshot: Snapshot, decisions: Sequence[Decision], memory: Mapping[str, object], *, namespace: str | None = None
) -> ClusterState:
    """The cluster when the plans that these decisions begin have ended as well, stages that are yet to come included."""
    state = played(snapshot, decisions)
    coming = [
        (str(step.workload), step.origin, step.target)
        for plan in plans_in.read(memory)
        for number, step in enumerate(plan.steps)
        if number not in plan.issued.values()
    ]
    coming += [(step.workload, step.origin, step.target) for step in plan_in(memory).steps]
    for workload, origin, target in coming:
        if namespace in (None, workload.partition("/")[0]) and target in state.nodes.index:
            pod = _pod_of(state, workload, origin)
            if pod is not None:
                state.lift(pod.key)
                state.assume(pod, target)
    return state


def _pod_of(state: ClusterState, workload: str, node: str) -> Pod | None:
    row = state.nodes.index.get(node)
    there = [] if row is None else [pod for pod in state.usage.pods_on[row] if str(pod.kind.workload) == workload]
    return min(there, key=lambda pod: pod.key, default=None)


def traffic(snapshot: Snapshot, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Pods waiting, nodes in use, their price, and the mean round trip of all measured traffic, before and after."""
    return {"before": figures(ClusterState.of(snapshot)), "after": figures(played(snapshot, decisions))}
