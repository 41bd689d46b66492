"""What the object store needs of whoever keeps the cluster.

Files and watch streams share the store, which knows what every kind of object means for the model. Where the results go
differs: a `ClusterState` applies them at once, a live cache lets nodes and pods take the way through its assumptions and
tells a queue what happened. This is all that the store asks of either.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from ecotone.model.columns.network import NetworkMap
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import (
    AppGroup,
    Claim,
    DisruptionBudget,
    Node,
    Pod,
    Reservation,
    ServiceSelector,
    StorageClass,
    Volume,
    Workload,
    WorkloadKey,
)


class ClusterSink(Protocol):
    @property
    def nodes(self) -> NodeTable: ...

    @property
    def workloads(self) -> Mapping[WorkloadKey, Workload]: ...

    def set_nodes(self, nodes: Iterable[Node]) -> None: ...

    def put_node(self, node: Node) -> None: ...

    def drop_node(self, name: str) -> None: ...

    def put_pod(self, pod: Pod) -> None: ...

    def drop_pod(self, key: str) -> None: ...

    def put_workload(self, workload: Workload) -> None: ...

    def drop_workload(self, key: WorkloadKey) -> None: ...

    def set_maps(self, maps: Iterable[NetworkMap]) -> None: ...

    def set_budgets(self, budgets: Iterable[DisruptionBudget]) -> None: ...

    def set_services(self, services: Iterable[ServiceSelector]) -> None: ...

    def set_reservations(self, reservations: Iterable[Reservation]) -> None: ...

    def set_app_groups(self, groups: Iterable[AppGroup]) -> None: ...

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        """None: the namespace is gone; likewise below."""

    def set_claim(self, key: str, claim: Claim | None) -> None: ...

    def set_volume(self, name: str, volume: Volume | None) -> None: ...

    def set_storage_class(self, name: str, given: StorageClass | None) -> None: ...
