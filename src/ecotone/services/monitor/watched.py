"""The part of the cluster a monitor looks at, mirrored: nodes, pods, workloads, and the resources that ask for monitoring.

The scheduler's cache turns objects into columns for decisions; a monitor needs little of each object (who owns a pod,
what is written on a workload) and must know uids and who wrote what, so it has shapes and stores of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.reading.reflector import Reflector
from ecotone.kube.resources import Resource
from ecotone.manifests import keys, wire
from ecotone.manifests.times import time_or_none
from ecotone.telemetry.refs import Place, Ref
from ecotone.telemetry.sources.speakers import Inhabitant

FIELD_MANAGER = "ecotone-monitor"
INPUT_PROXY = "input-proxy"
"""Value of the label ``ecotone.dev/role`` on the pods of the proxies that users enter through."""
REMEMBERED_PODS = 20_000
KUBELET_PORT = 10250

T = TypeVar("T")


class _Wire(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, gc=False):
    pass


class ManagedField(_Wire):
    manager: str = ""


class Meta(_Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: list[wire.OwnerReference] = []
    managed_fields: list[ManagedField] = []

    @property
    def ref(self) -> Ref:
        return Ref(self.namespace, self.name)

    @property
    def managed(self) -> bool:
        """True if the monitor holds something on this object."""
        return any(each.manager == FIELD_MANAGER for each in self.managed_fields)

    @property
    def age_order(self) -> tuple[float, str]:
        """Older first, then by name."""
        return time_or_none(self.creation_timestamp) or float("inf"), f"{self.namespace}/{self.name}"


class Address(_Wire):
    type: str = ""
    address: str = ""


class Endpoint(msgspec.Struct, omit_defaults=True, gc=False):
    port: int = msgspec.field(default=0, name="Port")  # written with a capital in Kubernetes' own API


class DaemonEndpoints(_Wire):
    kubelet_endpoint: Endpoint = msgspec.field(default_factory=Endpoint)


class NodeStatus(_Wire):
    allocatable: wire.Quantities = {}
    addresses: list[Address] = []
    daemon_endpoints: DaemonEndpoints = msgspec.field(default_factory=DaemonEndpoints)


class Node(_Wire):
    metadata: Meta
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class ContainerPort(_Wire):
    container_port: int = 0


class Container(_Wire):
    ports: list[ContainerPort] = []


class PodSpec(_Wire):
    node_name: str = ""
    host_network: bool = False
    containers: list[Container] = []


class PodIP(_Wire):
    ip: str = ""


class PodStatus(_Wire):
    phase: str = ""
    conditions: list[wire.Condition] = []
    pod_ip: str = msgspec.field(default="", name="podIP")
    pod_ips: list[PodIP] = msgspec.field(default_factory=list, name="podIPs")


class Pod(_Wire):
    metadata: Meta
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)

    @property
    def ready(self) -> bool:
        return self.metadata.deletion_timestamp is None and any(
            each.type == "Ready" and each.status == "True" for each in self.status.conditions
        )

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.status.pod_ip, *(each.ip for each in self.status.pod_ips))))

    @property
    def ports(self) -> tuple[int, ...]:
        """Those that its containers declare."""
        return tuple(port.container_port for each in self.spec.containers for port in each.ports)


class Template(_Wire):
    metadata: Meta = msgspec.field(default_factory=Meta)


class WorkloadSpec(_Wire):
    template: Template = msgspec.field(default_factory=Template)


class Workload(_Wire):
    metadata: Meta
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)

    @property
    def group(self) -> str | None:
        labels = self.spec.template.metadata.labels
        return labels.get(keys.APP_GROUP) or self.metadata.labels.get(keys.APP_GROUP)

    @property
    def lets_users_in(self) -> bool:
        return self.spec.template.metadata.labels.get(keys.ROLE) == INPUT_PROXY


class ReplicaSet(_Wire):
    metadata: Meta


class Status(_Wire):
    observed_generation: int = 0
    conditions: list[dict[str, Any]] = []
    workloads: dict[str, dict[str, str]] = {}
    """Figures of a large group: per `Kind/name` what would be its annotations."""


class Cluster(_Wire):
    metadata: Meta
    spec: wire.ClusterSpec = msgspec.field(default_factory=wire.ClusterSpec)
    status: Status = msgspec.field(default_factory=Status)


class AppGroup(_Wire):
    metadata: Meta
    spec: wire.AppGroupSpec = msgspec.field(default_factory=wire.AppGroupSpec)
    status: Status = msgspec.field(default_factory=Status)


class Store(Generic[T]):
    """All objects of one kind by `namespace/name`; a mirror's sink."""

    def __init__(self, changed: Callable[[], None] | None = None) -> None:
        self.items: dict[str, T] = {}
        self._changed = changed

    def upsert(self, item: Any) -> None:
        meta = item.metadata
        self.items[f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name] = item
        self._tell()

    def remove(self, key: str, uid: str) -> None:
        del uid
        self.items.pop(key, None)
        self._tell()

    def synced(self) -> None:
        self._tell()

    def _tell(self) -> None:
        if self._changed is not None:
            self._changed()

    def __iter__(self) -> Iterator[T]:
        return iter(self.items.values())


WORKLOADS = (resources.DEPLOYMENTS, resources.STATEFUL_SETS, resources.DAEMON_SETS)
CLUSTERS = Resource("ecotone.dev", "v1alpha1", "clusters", "Cluster", namespaced=False)
APP_GROUPS = Resource("ecotone.dev", "v1alpha1", "appgroups", "AppGroup")


class WorkloadStore(Store[Workload]):
    """Workloads of one kind, by namespace too; and those that let users in, of which there are few."""

    def __init__(self) -> None:
        super().__init__()
        self._spaces: dict[str, dict[str, Workload]] = {}
        self.entrances: dict[str, Workload] = {}

    def upsert(self, item: Workload) -> None:
        super().upsert(item)
        meta = item.metadata
        key = f"{meta.namespace}/{meta.name}"
        self._spaces.setdefault(meta.namespace, {})[meta.name] = item
        if item.lets_users_in:
            self.entrances[key] = item
        else:
            self.entrances.pop(key, None)

    def remove(self, key: str, uid: str) -> None:
        super().remove(key, uid)
        self.entrances.pop(key, None)
        namespace, _, name = key.partition("/")
        space = self._spaces.get(namespace, {})
        space.pop(name, None)
        if not space:
            self._spaces.pop(namespace, None)

    def of(self, namespace: str) -> Iterable[Workload]:
        return self._spaces.get(namespace, {}).values()


class Watched:
    """Mirrors of everything the monitor reads. ``resources_changed`` is set when a Cluster or AppGroup changes."""

    def __init__(self) -> None:
        self.resources_changed = asyncio.Event()
        self.nodes = NodeStore()
        self.pods = PodStore(self)
        self.replica_sets = ReplicaSetStore()
        self.workloads = {each.kind: WorkloadStore() for each in WORKLOADS}
        self.clusters: Store[Cluster] = Store(self.resources_changed.set)
        self.app_groups: Store[AppGroup] = Store(self.resources_changed.set)
        self._mirrors: list[Reflector[Any]] = []

    def attach(self, client: ApiClient, *, cluster: bool, applications: bool, sources: bool, silence: float) -> None:
        """Chooses what is mirrored: nothing is read that the chosen parts do not need.

        ``sources``: whether it is asked who exposed a series, which takes pods and nodes.
        """

        def mirror(resource: Resource, shape: type[Any], store: Any, *, optional: bool = False) -> None:
            self._mirrors.append(Reflector(client, resource, shape, store, silence=silence, optional=optional))

        if cluster:
            mirror(CLUSTERS, Cluster, self.clusters, optional=True)
        if cluster or sources:
            mirror(resources.NODES, Node, self.nodes)
        if applications:
            mirror(APP_GROUPS, AppGroup, self.app_groups, optional=True)
            for each in WORKLOADS:
                mirror(each, Workload, self.workloads[each.kind])
        if applications or sources:
            mirror(resources.REPLICA_SETS, ReplicaSet, self.replica_sets)
            mirror(resources.PODS, Pod, self.pods)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for mirror in self._mirrors:
                group.create_task(mirror.run())

    async def wait_synced(self) -> None:
        for mirror in self._mirrors:
            await mirror.wait_synced()

    # What a dialect asks (telemetry.dialects.base.Directory)

    def pod(self, namespace: str, name: str) -> Place | None:
        return self.pods.place(f"{namespace}/{name}")

    def exists(self, workload: Ref) -> bool:
        key = f"{workload.namespace}/{workload.name}"
        return any(key in store.items for store in self.workloads.values())

    def lets_users_in(self, workload: Ref) -> bool:
        key = f"{workload.namespace}/{workload.name}"
        return any(key in store.items and store.items[key].lets_users_in for store in self.workloads.values())

    def input_proxies(self) -> Sequence[Ref]:
        return sorted(each.metadata.ref for store in self.workloads.values() for each in store.entrances.values())

    # Who answers a scrape (telemetry.sources.speakers.Inhabitants)

    def inhabitant(self, namespace: str, pod: str) -> Inhabitant | None:
        known = self.pods.items.get(f"{namespace}/{pod}")
        if known is None:
            return None
        return Inhabitant(
            self.owner(known.metadata),
            known.spec.node_name,
            addresses=known.addresses,
            on_node_network=known.spec.host_network,
            ports=known.ports,
        )

    def kubelet_at(self, host: str, port: int) -> str | None:
        return self.nodes.kubelet_at(host, port)

    def has_node(self, name: str) -> bool:
        return name in self.nodes.items

    # What the monitor asks

    def all_workloads(self) -> Iterator[tuple[str, Workload]]:
        for kind, store in self.workloads.items():
            for each in store:
                yield kind, each

    def workloads_in(self, namespace: str) -> Iterator[tuple[str, Workload]]:
        for kind, store in self.workloads.items():
            for each in store.of(namespace):
                yield kind, each

    def owner(self, meta: Meta) -> Ref:
        """The workload that a pod belongs to: its ReplicaSet's Deployment, its own controller, or itself."""
        owner = next((each for each in meta.owner_references if each.controller), None)
        if owner is None:
            return Ref(meta.namespace, meta.labels.get(keys.APP, meta.name))
        if owner.kind == "ReplicaSet":
            above = self.replica_sets.items.get(f"{meta.namespace}/{owner.name}")
            deployment = (
                None if above is None else next((o for o in above.metadata.owner_references if o.controller), None)
            )
            if deployment is not None:
                return Ref(meta.namespace, deployment.name)
        return Ref(meta.namespace, owner.name)

    def ready_pods(self, namespace: str) -> dict[tuple[str, str], Ref]:
        return {
            (namespace, pod.metadata.name): self.owner(pod.metadata) for pod in self.pods.of(namespace) if pod.ready
        }


class NodeStore(Store[Node]):
    """Nodes, by what their kubelets listen on too."""

    def __init__(self) -> None:
        super().__init__()
        self._kubelets: dict[tuple[str, int], set[str]] = {}

    def upsert(self, item: Node) -> None:
        self._leave(item.metadata.name)
        super().upsert(item)
        for place in _kubelet(item):
            self._kubelets.setdefault(place, set()).add(item.metadata.name)

    def remove(self, key: str, uid: str) -> None:
        self._leave(key)
        super().remove(key, uid)

    def _leave(self, name: str) -> None:
        before = self.items.get(name)
        for place in () if before is None else _kubelet(before):
            names = self._kubelets.get(place, set())
            names.discard(name)
            if not names:
                self._kubelets.pop(place, None)

    def kubelet_at(self, host: str, port: int) -> str | None:
        """The node; none if several say that they are there."""
        names = self._kubelets.get((host, port), set())
        return next(iter(names)) if len(names) == 1 else None


def _kubelet(node: Node) -> set[tuple[str, int]]:
    port = node.status.daemon_endpoints.kubelet_endpoint.port or KUBELET_PORT
    return {(each.address, port) for each in node.status.addresses if each.address}


class ReplicaSetStore(Store[ReplicaSet]):
    """ReplicaSets, by owner too."""

    def __init__(self) -> None:
        super().__init__()
        self._owned: dict[str, dict[str, ReplicaSet]] = {}

    def upsert(self, item: ReplicaSet) -> None:
        self._disown(f"{item.metadata.namespace}/{item.metadata.name}")
        super().upsert(item)
        for owner in item.metadata.owner_references:
            self._owned.setdefault(owner.uid, {})[item.metadata.name] = item

    def remove(self, key: str, uid: str) -> None:
        self._disown(key)
        super().remove(key, uid)

    def _disown(self, key: str) -> None:
        item = self.items.get(key)
        for owner in item.metadata.owner_references if item is not None else ():
            owned = self._owned.get(owner.uid, {})
            owned.pop(key.partition("/")[2], None)
            if not owned:
                self._owned.pop(owner.uid, None)

    def owned_by(self, uid: str) -> list[ReplicaSet]:
        return list(self._owned.get(uid, {}).values())


class PodStore(Store[Pod]):
    """Pods, by namespace too, and for a while the place of those that are gone: their last counts are in the window."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self._watched = watched
        self._spaces: dict[str, dict[str, Pod]] = {}
        self._gone: dict[str, Place] = {}

    def upsert(self, item: Pod) -> None:
        super().upsert(item)
        meta = item.metadata
        self._spaces.setdefault(meta.namespace, {})[meta.name] = item
        self._gone.pop(f"{meta.namespace}/{meta.name}", None)

    def remove(self, key: str, uid: str) -> None:
        place = self.place(key)
        super().remove(key, uid)
        namespace, _, name = key.partition("/")
        space = self._spaces.get(namespace, {})
        space.pop(name, None)
        if not space:
            self._spaces.pop(namespace, None)
        if place is not None:
            self._gone[key] = place
            while len(self._gone) > REMEMBERED_PODS:
                self._gone.pop(next(iter(self._gone)))

    def of(self, namespace: str) -> Iterable[Pod]:
        return self._spaces.get(namespace, {}).values()

    def place(self, key: str) -> Place | None:
        pod = self.items.get(key)
        if pod is None:
            return self._gone.get(key)
        return Place(self._watched.owner(pod.metadata), pod.spec.node_name)
