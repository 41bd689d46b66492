"""What a plan shows: figures of the cluster as it is, and as it would be after the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.model.decisions import Bind, Decision, Evict, Preempt
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


def traffic(snapshot: Snapshot, decisions: Sequence[Decision]) -> dict[str, Any]:
    """Pods waiting, nodes in use, their price, and the mean round trip of all measured traffic, before and after."""
    return {"before": figures(ClusterState.of(snapshot)), "after": figures(played(snapshot, decisions))}
