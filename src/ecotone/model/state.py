"""The cluster as it is known now, mutable, and the way to an immutable snapshot of it.

`ClusterState` is filled from files at once or from watch streams event by event, and both ways must give the same columns.
`freeze()` hands out a `Snapshot` that later events never touch; `ClusterState.of(snapshot)` gives the engine a copy on which
it can play its own decisions forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from ecotone.model.columns.kinds import Pair, fixed_pair
from ecotone.model.columns.network import DEFAULT_MAX_AGE, Network, NetworkMap, is_stale, known
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.columns.usage import Usage
from ecotone.model.objects import (
    AppGroup,
    Claim,
    DisruptionBudget,
    Measured,
    Node,
    Pod,
    PodKind,
    Reservation,
    ServiceSelector,
    StorageClass,
    Volume,
    Workload,
    WorkloadKey,
)
from ecotone.model.selectors import LabelSelector
from ecotone.model.snapshot import Snapshot
from ecotone.model.workloads import WorkloadIndex

Value = TypeVar("Value")

_NO_NODES = NodeTable(())


class ClusterState:
    def __init__(self, *, now: float = 0.0, max_age: float = DEFAULT_MAX_AGE, seed: int = 0) -> None:
        self.now = now
        self.max_age = max_age
        self.seed = seed
        self.nodes = _NO_NODES
        self.usage = Usage(self.nodes)
        self.pending: dict[str, Pod] = {}
        self.homeless: dict[str, Pod] = {}
        self.workloads: dict[WorkloadKey, Workload] = {}
        self.graph = WorkloadIndex()
        self.maps: tuple[NetworkMap, ...] = ()
        self.budgets: tuple[DisruptionBudget, ...] = ()
        self.services: tuple[ServiceSelector, ...] = ()
        self.namespaces: dict[str, Mapping[str, str]] = {}
        self.claims: dict[str, Claim] = {}
        self.volumes: dict[str, Volume] = {}
        self.storage_classes: dict[str, StorageClass] = {}
        self.reservations: tuple[Reservation, ...] = ()
        self.app_groups: tuple[AppGroup, ...] = ()
        self.vouched = True
        """Whether somebody answers for what is measured. If not, an owner's figures count in his own namespace alone."""
        self.last_moves: dict[WorkloadKey, float] = {}
        self.memory: dict[str, object] = {}
        self.notes: dict[str, object] = {}
        """What plugins work out once for all pods of a round; it lives and dies with this copy of the cluster."""
        self.kind_counts: dict[PodKind, int] = {}
        self.named: dict[tuple[str, str], tuple[PodKind, ...]] = {}
        self._usage_at = now
        self._usage_of: dict[PodKind, tuple[float, float]] = {}
        self._homes: dict[str, str] | None = {}
        self._network: Network | None = None
        self._budget_index: tuple[tuple[DisruptionBudget, ...], dict[str, list[DisruptionBudget]]] = ((), {})
        self._services_by_namespace: tuple[tuple[ServiceSelector, ...], dict[str, list[ServiceSelector]]] = ((), {})
        self._service_index: tuple[tuple[ServiceSelector, ...], dict[tuple[str, Pair | None], list[LabelSelector]]] = (
            (),
            {},
        )

    # Nodes

    def set_nodes(self, nodes: Iterable[Node]) -> None:
        """Replaces the whole node set: one rebuild however many there are."""
        self._replace_table(NodeTable(nodes, resources=self.nodes.resources))

    def put_node(self, node: Node) -> None:
        self.put_nodes((node,))

    def put_nodes(self, nodes: Iterable[Node]) -> None:
        """New nodes, or new versions of known ones: columns are laid out again only if rows or columns are added."""
        given = {node.name: node for node in nodes}
        index = self.nodes.index
        changes = {
            index[name]: node for name, node in given.items() if name in index and self.nodes.nodes[index[name]] != node
        }
        added = [node for name, node in given.items() if name not in index]
        if not changes and not added:
            return
        before = self.nodes
        table = None if added else before.changed(changes)
        if table is None:
            rows = [changes.get(row, node) for row, node in enumerate(before.nodes)]
            self._replace_table(NodeTable((*rows, *added), resources=before.resources))
        else:
            self.nodes = table
            if any(_other_network(before.nodes[row], node) for row, node in changes.items()):
                self._network = None
        for row, node in changes.items():
            if before.nodes[row].measured_at != node.measured_at:
                self._recount_recent(row)

    def drop_node(self, name: str) -> None:
        if name in self.nodes.index:
            left = [node for node in self.nodes.nodes if node.name != name]
            self._replace_table(NodeTable(left, resources=self.nodes.resources))

    def _replace_table(self, table: NodeTable) -> None:
        before = self.nodes
        for name in before.names:
            if name not in table.index:
                for pod in self.usage.pods_on[before.index[name]]:
                    self.homeless[pod.key] = pod
                    self._where.pop(pod.key, None)
        self.usage = self.usage.resized(before, table)
        self.nodes = table
        self._network = None
        for pod in [each for each in self.homeless.values() if each.node in table.index]:
            del self.homeless[pod.key]
            self._settle(pod)
        for row, node in enumerate(table.nodes):
            old = before.index.get(node.name)
            if old is not None and before.nodes[old].measured_at != node.measured_at:
                self._recount_recent(row)

    # Pods

    def put_pod(self, pod: Pod) -> None:
        """Adds or updates; a finished pod holds nothing."""
        if self._swapped(pod):
            return
        self.drop_pod(pod.key)
        if pod.terminal:
            return
        self._know(pod.kind, +1)
        if pod.node is None:
            self.pending[pod.key] = pod
        elif pod.node in self.nodes.index:
            self._settle(pod)
        else:
            self.homeless[pod.key] = pod

    def _swapped(self, pod: Pod) -> bool:
        """True if the pod was there already and asks for what it asked for: no sum changes.

        Its status is new, or its labels: API servers copy a node's zone and region to the pods that are bound to it.
        """
        if pod.node is None or pod.terminal or self._homes is None or self._homes.get(pod.key) != pod.node:
            return False
        row = self.nodes.index[pod.node]
        before = next(each for each in self.usage.pods_on[row] if each.key == pod.key)
        if before.is_peer != pod.is_peer or before.kind.spec != pod.kind.spec:
            return False
        if before.kind is not pod.kind and before.kind != pod.kind:
            self.usage.forget_recent(before, row)
            self.usage.recount(before, pod, row)
            self._know(pod.kind, +1)
            self._know(before.kind, -1)
        self.usage.swap(before, pod, row)
        if self._newer_than_measurement(pod, row):
            self.usage.note_recent(pod, row)
        else:
            self.usage.forget_recent(pod, row)
        return True

    def drop_pod(self, key: str) -> None:
        waiting = self.pending.pop(key, None) or self.homeless.pop(key, None)
        if waiting is not None:
            self._know(waiting.kind, -1)
            return
        found = self._take(key)
        if found is not None:
            self.usage.forget_recent(*found)

    def lift(self, key: str) -> Pod | None:
        """Thinks a running pod away, to judge where it would go now: its requests, ports and usage return to its node."""
        found = self._take(key)
        if found is None:
            return None
        if not self.usage.forget_recent(*found):
            self.usage.give_back(*found)
        return found[0]

    def _take(self, key: str) -> tuple[Pod, int] | None:
        node = self._where.pop(key, None)
        if node is None:
            return None
        row = self.nodes.index[node]
        pod = next(each for each in self.usage.pods_on[row] if each.key == key)
        self.usage.remove(pod, row, self.nodes)
        self._know(pod.kind, -1)
        return pod, row

    def disrupt(self, key: str) -> None:
        """The pod is taken away for another's sake: its disruption budgets allow one less from now on."""
        pod = self.find_pod(key)
        if pod is not None:
            self.budgets = tuple(
                replace(each, allowed=each.allowed - 1) if each.covers(pod) else each for each in self.budgets
            )
            self.drop_pod(key)

    def assume(self, pod: Pod, node: str) -> Pod:
        """The pod counts on this node from now on, before anybody confirmed it."""
        placed = pod.on(node, at=self.now)
        waiting = self.pending.get(pod.key)
        if waiting is not None and waiting.kind is pod.kind:
            del self.pending[pod.key]  # as many of its kind as before
        else:
            self._know(pod.kind, +1)
            self.drop_pod(pod.key)
        self._settle(placed, assumed=True)
        return placed

    def find_pod(self, key: str) -> Pod | None:
        waiting = self.pending.get(key) or self.homeless.get(key)
        if waiting is not None:
            return waiting
        row = self.nodes.index.get(self._where.get(key, ""))
        return next((pod for pod in self.usage.pods_on[row] if pod.key == key), None) if row is not None else None

    def _settle(self, pod: Pod, *, assumed: bool = False) -> None:
        row = self.nodes.index[pod.node or ""]
        self.usage.add(pod, row, self.nodes)
        if self._homes is not None:
            self._homes[pod.key] = pod.node or ""
        if not self.usage.take_back(pod, row) and (assumed or self._newer_than_measurement(pod, row)):
            self.usage.note_recent(pod, row)

    def _newer_than_measurement(self, pod: Pod, row: int) -> bool:
        measured = self.nodes.nodes[row].measured_at
        return measured is not None and pod.bound_at is not None and pod.bound_at > measured

    def _recount_recent(self, row: int) -> None:
        for pod in self.usage.pods_on[row]:
            if self._newer_than_measurement(pod, row):
                self.usage.note_recent(pod, row)
            else:
                self.usage.forget_recent(pod, row)

    def set_recent(self, keys: Iterable[str]) -> None:
        """Exactly these bound pods are not in their nodes' measurements yet."""
        newer = frozenset(keys)
        for row, pods in enumerate(self.usage.pods_on):
            for pod in pods:
                if pod.key in newer:
                    self.usage.note_recent(pod, row)
                else:
                    self.usage.forget_recent(pod, row)

    def _know(self, kind: PodKind, by: int) -> None:
        """Keeps the kinds that have pods, bound or waiting, findable by their workload's name."""
        name = (kind.workload.namespace, kind.workload.name)
        count = self.kind_counts.get(kind, 0) + by
        if count:
            if count == by:
                self.named[name] = (*self.named.get(name, ()), kind)
            self.kind_counts[kind] = count
            return
        del self.kind_counts[kind]
        left = tuple(each for each in self.named[name] if each != kind)
        if left:
            self.named[name] = left
        else:
            del self.named[name]

    def pod_usage(self, kind: PodKind) -> tuple[float, float]:
        """CPU (millicores) and memory (bytes) one pod of the kind uses: measured, else what it requests."""
        if self._usage_at != self.now:
            self._usage_at, self._usage_of = self.now, {}
        found = self._usage_of.get(kind)
        if found is None:
            workload = self.workloads.get(kind.workload)
            cpu = self.fresh(workload.cpu_usage) if workload else None
            memory = self.fresh(workload.memory_usage) if workload else None
            found = self._usage_of[kind] = (
                float(kind.spec.request("cpu")) if cpu is None else cpu,
                float(kind.spec.request("memory")) if memory is None else memory,
            )
        return found

    def usage_counted_by(self, namespace: str, kind: PodKind) -> tuple[float, float]:
        """The same as a pod of this namespace counts it: of another's pods only what they request, unless it is vouched."""
        if self.vouched or kind.namespace == namespace:
            return self.pod_usage(kind)
        return float(kind.spec.request("cpu")), float(kind.spec.request("memory"))

    def fresh(self, measured: Measured | None) -> float | None:
        """The value of a measurement that can be used, else None."""
        if measured is None or not known(measured.value):
            return None
        if is_stale(measured.at, now=self.now, max_age=self.max_age):
            return None
        return float(measured.value)

    @property
    def _where(self) -> dict[str, str]:
        """Which node each bound pod is on; a working copy builds it only when it takes a bound pod away."""
        if self._homes is None:
            self._homes = {pod.key: pod.node or "" for pod in self.usage.pods()}
        return self._homes

    # Everything else

    def put_workload(self, workload: Workload) -> None:
        self._usage_of = {}
        self.graph.change(self.workloads.get(workload.key), workload)
        self.workloads[workload.key] = workload

    def drop_workload(self, key: WorkloadKey) -> None:
        gone = self.workloads.pop(key, None)
        if gone is not None:
            self._usage_of = {}
            self.graph.change(gone, None)

    def set_maps(self, maps: Iterable[NetworkMap]) -> None:
        self.maps = tuple(maps)
        self._network = None

    def set_budgets(self, budgets: Iterable[DisruptionBudget]) -> None:
        self.budgets = tuple(budgets)

    def set_services(self, services: Iterable[ServiceSelector]) -> None:
        self.services = tuple(services)

    def services_selecting(self, pod: Pod) -> Iterator[LabelSelector]:
        """Selectors of Services that may select the pod: of its namespace, with one of its labels or none in particular."""
        known, index = self._service_index
        if known is not self.services:
            index = {}
            for service in self.services:
                index.setdefault((service.namespace, fixed_pair(service.selector)), []).append(service.selector)
            self._service_index = (self.services, index)
        for pair in (None, *pod.kind.labels):
            yield from index.get((pod.namespace, pair), ())

    def budgets_in(self, namespace: str) -> Sequence[DisruptionBudget]:
        known, index = self._budget_index
        if known is not self.budgets:
            index = {}
            for budget in self.budgets:
                index.setdefault(budget.namespace, []).append(budget)
            self._budget_index = (self.budgets, index)
        return index.get(namespace, ())

    def services_in(self, namespace: str) -> Sequence[ServiceSelector]:
        known, index = self._services_by_namespace
        if known is not self.services:
            index = {}
            for service in self.services:
                index.setdefault(service.namespace, []).append(service)
            self._services_by_namespace = (self.services, index)
        return index.get(namespace, ())

    def set_reservations(self, reservations: Iterable[Reservation]) -> None:
        self.reservations = tuple(reservations)

    def set_app_groups(self, groups: Iterable[AppGroup]) -> None:
        self.app_groups = tuple(groups)

    def set_namespace(self, name: str, labels: Mapping[str, str] | None) -> None:
        _set(self.namespaces, name, labels)

    def set_claim(self, key: str, claim: Claim | None) -> None:
        _set(self.claims, key, claim)

    def set_volume(self, name: str, volume: Volume | None) -> None:
        _set(self.volumes, name, volume)

    def set_storage_class(self, name: str, given: StorageClass | None) -> None:
        _set(self.storage_classes, name, given)

    @property
    def network(self) -> Network:
        if self._network is None:
            self._network = Network(self.nodes, maps=self.maps, now=self.now, max_age=self.max_age)
        return self._network

    def advance(self, now: float) -> None:
        """Time passed: what was fresh may have gone stale, what seemed to come from the future may be the present."""
        if any(
            is_stale(node.measured_at, now=self.now, max_age=self.max_age)
            != is_stale(node.measured_at, now=now, max_age=self.max_age)
            for node in self.nodes.linked
        ):
            self._network = None
        self.now = now

    def freeze(self) -> Snapshot:
        """A picture of this moment that nothing changes any more."""
        usage = self.usage.copy()
        usage.freeze()
        return Snapshot(
            now=self.now,
            max_age=self.max_age,
            seed=self.seed,
            nodes=self.nodes,
            usage=usage,
            pending=self.pending.copy(),
            homeless=self.homeless.copy(),
            workloads=self.workloads.copy(),
            graph=self.graph.copy(),
            network=self.network,
            maps=self.maps,
            budgets=self.budgets,
            services=self.services,
            namespaces=dict(self.namespaces),
            claims=dict(self.claims),
            volumes=dict(self.volumes),
            storage_classes=dict(self.storage_classes),
            reservations=self.reservations,
            last_moves=dict(self.last_moves),
            memory=dict(self.memory),
            kind_counts=self.kind_counts.copy(),
            named=self.named.copy(),
            app_groups=self.app_groups,
            vouched=self.vouched,
        )

    @staticmethod
    def of(snapshot: Snapshot) -> ClusterState:
        """A working copy: everything the snapshot shows, free to change."""
        state = ClusterState(now=snapshot.now, max_age=snapshot.max_age, seed=snapshot.seed)
        state.nodes = snapshot.nodes
        state.usage = snapshot.usage.copy()
        state.pending = dict(snapshot.pending)
        state.homeless = dict(snapshot.homeless)
        state.workloads = dict(snapshot.workloads)
        state.graph = snapshot.graph.copy()
        state.maps = snapshot.maps
        state.budgets = snapshot.budgets
        state.services = snapshot.services
        state.namespaces = dict(snapshot.namespaces)
        state.claims = dict(snapshot.claims)
        state.volumes = dict(snapshot.volumes)
        state.storage_classes = dict(snapshot.storage_classes)
        state.reservations = snapshot.reservations
        state.last_moves = dict(snapshot.last_moves)
        state.memory = dict(snapshot.memory)
        state.kind_counts = dict(snapshot.kind_counts)
        state.named = dict(snapshot.named)
        state.app_groups = snapshot.app_groups
        state.vouched = snapshot.vouched
        state._network = snapshot.network
        state._homes = None
        return state


def _set(table: dict[str, Value], key: str, value: Value | None) -> None:
    """None: it is gone."""
    if value is None:
        table.pop(key, None)
    else:
        table[key] = value


def _other_network(old: Node, new: Node) -> bool:
    """True if distances may differ: what the node measured, or the zone or tier by which a map knows it."""
    linked = bool(old.latencies or new.latencies)
    return linked or (old.coordinates, old.labels, old.tier) != (new.coordinates, new.labels, new.tier)
