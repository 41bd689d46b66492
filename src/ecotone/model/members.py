"""The pods of one workload, found through where its kinds run: what one application needs of a cluster of fifty thousand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ecotone.model.objects import Pod, PodKind, WorkloadKey
from ecotone.model.usage import Usage


class Populated(Protocol):
    """A snapshot or a state."""

    @property
    def named(self) -> Mapping[tuple[str, str], tuple[PodKind, ...]]: ...

    @property
    def usage(self) -> Usage: ...


def pods_of(cluster: Populated, workload: WorkloadKey) -> list[Pod]:
    """Those that have a node, node by node, the ones on their way out included."""
    kinds = cluster.named.get((workload.namespace, workload.name), ())
    rows = sorted({row for kind in kinds for row in cluster.usage.placed.get(kind, {})})
    return [pod for row in rows for pod in cluster.usage.pods_on[row] if pod.kind.workload == workload]
