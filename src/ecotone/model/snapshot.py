"""An immutable picture of a cluster: all that a decision may depend on.

Handed to policies, dumped to a file, replayed in a test. The arrays inside are read-only, and nothing here reaches for a
clock or the network.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ecotone.model.columns.network import Network, NetworkMap
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.columns.usage import Usage
from ecotone.model.objects import (
    AppGroup,
    Claim,
    DisruptionBudget,
    Pod,
    PodKind,
    Reservation,
    ServiceSelector,
    StorageClass,
    Volume,
    Workload,
    WorkloadKey,
)
from ecotone.model.workloads import WorkloadIndex


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    now: float
    max_age: float
    seed: int
    nodes: NodeTable
    usage: Usage
    network: Network
    pending: Mapping[str, Pod] = field(default_factory=dict)
    homeless: Mapping[str, Pod] = field(default_factory=dict)
    workloads: Mapping[WorkloadKey, Workload] = field(default_factory=dict)
    graph: WorkloadIndex = field(default_factory=WorkloadIndex)
    maps: tuple[NetworkMap, ...] = ()
    budgets: tuple[DisruptionBudget, ...] = ()
    services: tuple[ServiceSelector, ...] = ()
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    claims: Mapping[str, Claim] = field(default_factory=dict)
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    storage_classes: Mapping[str, StorageClass] = field(default_factory=dict)
    reservations: tuple[Reservation, ...] = ()
    last_moves: Mapping[WorkloadKey, float] = field(default_factory=dict)
    memory: Mapping[str, object] = field(default_factory=dict)
    kind_counts: Mapping[PodKind, int] = field(default_factory=dict)
    named: Mapping[tuple[str, str], tuple[PodKind, ...]] = field(default_factory=dict)
    app_groups: tuple[AppGroup, ...] = ()
    vouched: bool = True

    def pods(self) -> Iterator[Pod]:
        """Every pod that is not finished: bound ones node by node, then those on vanished nodes, then the waiting."""
        yield from self.usage.pods()
        yield from self.homeless.values()
        yield from self.pending.values()

    def with_waiting(self, pods: Iterable[Pod]) -> Snapshot:
        """The same picture with these pods pending, for executors that keep their queue beside the cluster."""
        given = {pod.key: pod for pod in pods}
        counts, named = dict(self.kind_counts), dict(self.named)
        for kind in (pod.kind for key, pod in given.items() if key not in self.pending):
            if kind not in counts:
                name = (kind.workload.namespace, kind.workload.name)
                named[name] = (*named.get(name, ()), kind)
            counts[kind] = counts.get(kind, 0) + 1
        return replace(self, pending={**self.pending, **given}, kind_counts=counts, named=named)

    def find_pod(self, key: str) -> Pod | None:
        return next((pod for pod in self.pods() if pod.key == key), None)
