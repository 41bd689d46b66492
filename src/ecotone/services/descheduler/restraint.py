"""Reasons to leave an application, a workload or a node alone, as the live cluster shows them. Pure.

Beyond what the descheduling rules know: what is mid-rollout, what has just been marked for removal by an autoscaler or a
drain, and how far the measurements can be trusted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ecotone.model.objects import Node, Pod, Workload, WorkloadKey

LEAVING = frozenset(
    {
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/shutdown",
    }
)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How many of an application's workloads have measurements, and how many of those are young enough."""

    measured: int
    fresh: int

    @property
    def usable(self) -> bool:
        """Nothing measured at all is a choice (static affinity); measurements that have gone stale are a failure."""
        return self.measured == 0 or 2 * self.fresh >= self.measured

    @property
    def cautious(self) -> bool:
        return self.fresh < self.measured

    def __str__(self) -> str:
        if not self.measured:
            return "nothing is measured"
        return f"{self.fresh} of {self.measured} workloads have fresh measurements"


def freshness(workloads: Iterable[Workload], *, now: float, max_age: float) -> Freshness:
    times = [each.measured_at for each in workloads if each.measured_at is not None]
    return Freshness(len(times), sum(now - at <= max_age for at in times))


def in_rollout(pods: Iterable[Pod], workloads: Iterable[Workload]) -> Mapping[WorkloadKey, str]:
    """Workloads whose pods are of several revisions, or not all there or ready."""
    hashes: dict[WorkloadKey, set[str]] = {}
    unready: dict[WorkloadKey, int] = {}
    counts: dict[WorkloadKey, int] = {}
    for pod in pods:
        if pod.terminal:
            continue
        key = pod.kind.workload
        if not pod.deleting:
            hashes.setdefault(key, set()).add(pod.template_hash)
            counts[key] = counts.get(key, 0) + 1
        if not pod.ready or pod.deleting:
            unready[key] = unready.get(key, 0) + 1
    busy = {key: "its workload is in the middle of a rollout" for key, found in hashes.items() if len(found) > 1}
    busy |= dict.fromkeys(unready, "a pod of its workload is not ready or on its way out")
    for workload in workloads:
        key, wanted = workload.key, workload.replicas
        if wanted is not None and key in counts and counts[key] != wanted:
            busy[key] = f"its workload has {counts[key]} of {wanted} pods"
    return busy


def is_leaving(node: Node | None) -> bool:
    """True if an autoscaler, a drain or a failure has marked it, or if it has gone: never a target."""
    return node is None or node.unschedulable or any(taint.key in LEAVING for taint in node.taints)


@dataclass(frozen=True)
class Scope:
    """Which pods one application's round may touch; handed to the rules as ``stays``."""

    namespace: str
    app_group: str
    busy: Mapping[WorkloadKey, str]
    under_way: frozenset[WorkloadKey]
    failed: frozenset[str] = frozenset()
    """Nodes that are not ready: that their pods are not is no reason to leave these where they are."""

    def __call__(self, pod: Pod) -> str | None:
        if pod.namespace != self.namespace or pod.kind.app_group != self.app_group:
            return "it belongs to another application"
        if pod.kind.workload in self.under_way:
            return "a move of its workload is under way"
        if pod.node in self.failed and not pod.ready:
            return None
        return self.busy.get(pod.kind.workload)
