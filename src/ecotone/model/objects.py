"""Nodes, pods and workloads as values.

A pod is split in two: what makes it *this* pod (name, uid, where it runs) and its `PodKind`, which every replica shares.
Replicas of one workload therefore cost one spec in memory, are counted per kind and node instead of one by one, and two
pods may be placed in one batch exactly when their kinds are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter

import msgspec

from ecotone.model.selectors import (
    EVERYTHING,
    LabelSelector,
    NodeAffinity,
    PodAffinity,
    SpreadConstraint,
    Taint,
    Toleration,
)

USERS = "users@"


class Measured(msgspec.Struct, frozen=True):
    """A number somebody measured, and when (None: not said, counts as fresh)."""

    value: float
    at: float | None = None


class Coordinates(msgspec.Struct, frozen=True):
    """A node's place in a network coordinate system: distances between vectors, plus heights, are milliseconds."""

    vector: tuple[float, ...]
    height: float = 0.0
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    allocatable: Mapping[str, int] = field(hash=False)
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    tier: str | None = None
    price_per_hour: float = 0.0
    images: Mapping[str, int] = field(default_factory=dict, hash=False)
    available_cpu: float | None = None
    available_memory: float | None = None
    latencies: Mapping[str, float] | None = field(default=None, hash=False)
    measured_at: float | None = None
    coordinates: Coordinates | None = None
    declared_features: frozenset[str] = frozenset()
    attachable: Mapping[str, int] = field(default_factory=dict, hash=False)
    bandwidths: Mapping[str, float] | None = field(default=None, hash=False)
    losses: Mapping[str, float] | None = field(default=None, hash=False)
    unready_since: float | None = None


class HostPort(msgspec.Struct, frozen=True):
    port: int
    protocol: str = "TCP"
    ip: str = "0.0.0.0"  # noqa: S104 - the wildcard of the Kubernetes API, nothing is listened on

    def conflicts(self, other: HostPort) -> bool:
        if (self.port, self.protocol) != (other.port, other.protocol):
            return False
        wildcard = "0.0.0.0"  # noqa: S104
        return wildcard in (self.ip, other.ip) or self.ip == other.ip


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What the scheduler reads of a pod's spec. Requests are effective: init containers, sidecars, overhead included."""

    requests: tuple[tuple[str, int], ...] = ()
    nonzero: tuple[int, int] = (100, 200 * 1024 * 1024)
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    node_selector: tuple[tuple[str, str], ...] = ()
    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadConstraint, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    images: tuple[str, ...] = ()
    containers: int = 1
    gates: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    restricted_volumes: tuple[str, ...] = ()
    local_storage: bool = False
    resource_claims: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    grace_seconds: float = 30.0
    cpu_limit: int | None = None
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        # Part of every kind's hash: worked out once, the parts never change.
        if not self._hash:
            parts = tuple([getattr(self, each.name) for each in fields(self) if each.compare])
            object.__setattr__(self, "_hash", hash(parts) or 1)
        return self._hash

    def request(self, resource: str) -> int:
        for name, amount in self.requests:
            if name == resource:
                return amount
        return 0


class WorkloadKey(msgspec.Struct, frozen=True, order=True, cache_hash=True):
    """`namespace/name` of what owns the pods; the kind only tells two of the same name apart."""

    namespace: str
    name: str
    kind: str = "Deployment"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodKind:
    """Everything about a pod that its replicas share: the scheduling signature."""

    namespace: str
    workload: WorkloadKey
    labels: tuple[tuple[str, str], ...] = ()
    spec: PodSpec = PodSpec()
    app_group: str | None = None
    index: int | None = None
    role: str | None = None
    max_latency_ms: float | None = None
    _hash: int = field(default=0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Hashed on every event of the live cache: once is enough, the parts never change.
        object.__setattr__(self, "_hash", hash(self._parts()))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PodKind) or self._hash != other._hash:
            return False
        return self._parts() == other._parts()

    def _parts(self) -> tuple[object, ...]:
        return (self.workload, *self._common())

    def _common(self) -> tuple[object, ...]:
        return (
            *(self.namespace, self.labels, self.spec),
            *(self.app_group, self.index, self.role, self.max_latency_ms),
        )

    def like(self, other: PodKind) -> bool:
        """True if they differ in nothing but the workload."""
        return self._common() == other._common()

    def label(self, key: str) -> str | None:
        return next((value for name, value in self.labels if name == key), None)


@dataclass(frozen=True, slots=True)
class Pod:
    name: str
    uid: str
    kind: PodKind
    node: str | None = None
    phase: str = "Pending"
    created: float = 0.0
    bound_at: float | None = None
    ready: bool = False
    ready_at: float | None = None
    deleting: bool = False
    nominated: str | None = None
    owner: str | None = None
    mirror: bool = False
    deletion_cost: int = 0
    template_hash: str = ""
    pinned: str = ""
    """Why it may not be moved, as its own annotations say."""
    storage_expendable: bool = False
    """Its annotations say that what its local volumes hold may be lost."""
    key: str = field(default="", init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", f"{self.kind.namespace}/{self.name}")

    @property
    def namespace(self) -> str:
        return self.kind.namespace

    @property
    def spec(self) -> PodSpec:
        return self.kind.spec

    @property
    def terminal(self) -> bool:
        return self.phase in ("Succeeded", "Failed")

    @property
    def is_peer(self) -> bool:
        """Counts as a communication partner: bound, not finished, not on its way out."""
        return self.node is not None and not self.terminal and not self.deleting

    def on(self, node: str, *, at: float | None = None) -> Pod:
        # Slot by slot: every pod that is placed comes here, and `replace` takes many times as long.
        placed = object.__new__(Pod)
        for write, value in zip(_WRITE_POD, _READ_POD(self), strict=True):
            write(placed, value)
        object.__setattr__(placed, "node", node)
        object.__setattr__(placed, "bound_at", at)
        return placed


_READ_POD = attrgetter(*Pod.__slots__)
_WRITE_POD = tuple(getattr(Pod, name).__set__ for name in Pod.__slots__)


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment, StatefulSet, DaemonSet, Job or bare pod, with what is known of its use and talk."""

    key: WorkloadKey
    replicas: int | None = None
    selector: LabelSelector | None = None
    app_group: str | None = None
    index: int | None = None
    cpu_usage: Measured | None = None
    memory_usage: Measured | None = None
    traffic: Mapping[str, float] | None = field(default=None, hash=False)
    affinity: Mapping[str, float] | None = field(default=None, hash=False)
    synchronous: Mapping[str, bool] = field(default_factory=dict, hash=False)
    deadlines: Mapping[str, float] = field(default_factory=dict, hash=False)
    soft_deadlines: Mapping[str, float] = field(default_factory=dict, hash=False)
    measured_at: float | None = None
    external: bool = False
    requests: Mapping[str, float] | None = field(default=None, hash=False)
    calls: Mapping[str, float] | None = field(default=None, hash=False)
    edge_share: float | None = None
    target_latency_ms: float | None = None
    redundancy: str | None = None
    """What its owner declares: `none`, `node` or `zone`."""


@dataclass(frozen=True, slots=True)
class AppGroup:
    """What an application's owner asks for it: latencies of the tiers (for QoS targets), an objective, or a pause."""

    namespace: str
    name: str
    tier_latency_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    slo_percentile: float = 95.0
    slo_ms: float | None = None
    paused: bool = False


class DisruptionBudget(msgspec.Struct, frozen=True):
    namespace: str
    name: str
    selector: LabelSelector = EVERYTHING
    allowed: int = 0

    def covers(self, pod: Pod) -> bool:
        return self.namespace == pod.namespace and self.selector.matches(dict(pod.kind.labels))


class ServiceSelector(msgspec.Struct, frozen=True):
    """A Service's selector: who its endpoints are, which default spreading needs to know.

    `traffic_distribution` is `PreferSameNode`, `PreferSameZone` or None: kube-proxy's uniform choice.
    """

    namespace: str
    name: str
    selector: LabelSelector
    traffic_distribution: str | None = None


class Claim(msgspec.Struct, frozen=True):
    """A PersistentVolumeClaim as far as placement cares."""

    namespace: str
    name: str
    volume: str | None = None
    storage_class: str | None = None
    access_modes: frozenset[str] = frozenset()
    deleting: bool = False
    request: int = 0
    mode: str = "Filesystem"
    selector: LabelSelector | None = None
    selected_node: str | None = None

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


class Volume(msgspec.Struct, frozen=True):
    """A PersistentVolume: where it can be reached from. `available`: free to be claimed (its phase says so)."""

    name: str
    node_affinity: NodeAffinity = NodeAffinity()
    labels: tuple[tuple[str, str], ...] = ()
    claim: str | None = None
    storage_class: str | None = None
    driver: str | None = None
    capacity: int = 0
    access_modes: frozenset[str] = frozenset()
    mode: str = "Filesystem"
    available: bool = True


class StorageClass(msgspec.Struct, frozen=True):
    name: str
    provisioner: str = ""
    waits_for_consumer: bool = False
    topologies: tuple[NodeAffinity, ...] = ()


class Reservation(msgspec.Struct, frozen=True):
    """Capacity held on a node for the replacement of an evicted pod."""

    name: str
    namespace: str
    workload: WorkloadKey
    template_hash: str
    node: str
    requests: tuple[tuple[str, int], ...]
    replaces_uid: str
    expires: float
    taken_by: str = ""
    priority: int = 0
