"""The pods of some workloads, found through where their kinds run: what one application needs of a cluster of thousands."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from ecotone.model.columns.usage import Usage
from ecotone.model.objects import Pod, PodKind, WorkloadKey


class Populated(Protocol):
    """A snapshot or a state."""

    @property
    def named(self) -> Mapping[tuple[str, str], tuple[PodKind, ...]]: ...

    @property
    def usage(self) -> Usage: ...


def pods_of(cluster: Populated, workload: WorkloadKey) -> list[Pod]:
    """Those that have a node, node by node, the ones on their way out included."""
    return pods_of_each(cluster, (workload,))[workload]


def pods_of_each(cluster: Populated, workloads: Collection[WorkloadKey]) -> dict[WorkloadKey, list[Pod]]:
    """The same of several: replicas share nodes, and each of those is looked at once."""
    found: dict[WorkloadKey, list[Pod]] = {workload: [] for workload in workloads}
    kinds = {kind for each in found for kind in cluster.named.get((each.namespace, each.name), ())}
    rows = sorted({row for kind in kinds for row in cluster.usage.placed.get(kind, {})})
    own = {id(kind): found.get(kind.workload) for kind in kinds}
    for row in rows:
        for pod in cluster.usage.pods_on[row]:
            # Pods of one kind share the object as a rule; hashing it for every pod would cost more than everything else.
            mates = own.get(id(pod.kind)) if id(pod.kind) in own else found.get(pod.kind.workload)
            if mates is not None:
                mates.append(pod)
    return found
