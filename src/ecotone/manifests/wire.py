"""Kubernetes objects as they travel, limited to the fields that are read.

A pod of a real cluster has some three hundred fields and a decision reads fifty. msgspec skips the rest while decoding,
so a field that is not here costs nothing. Whoever needs another one adds it here and nowhere else. Files and the API
server share these shapes; what they mean is the business of the modules beside this one.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

# The API server checks these bounds; files have nobody else to do it.
Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Quantity = str | int | float
Quantities = dict[str, Quantity]
IntOrText = int | str
Text = dict[str, str]


class Wire(msgspec.Struct, rename="camel", kw_only=True, omit_defaults=True, gc=False):
    """Base of all shapes: camelCase outside, snake_case inside, unknown fields ignored."""


class OwnerReference(Wire):
    kind: str
    name: str
    api_version: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(Wire):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: Text = {}
    annotations: Text = {}
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: list[OwnerReference] = []


# Selectors


class SelectorRequirement(Wire):
    key: str
    operator: str
    values: list[str] = []


class LabelSelector(Wire):
    match_labels: Text = {}
    match_expressions: list[SelectorRequirement] = []


class NodeSelectorTerm(Wire):
    match_expressions: list[SelectorRequirement] = []
    match_fields: list[SelectorRequirement] = []


class NodeSelector(Wire):
    node_selector_terms: list[NodeSelectorTerm] = []


class PreferredSchedulingTerm(Wire):
    weight: Int32
    preference: NodeSelectorTerm


class NodeAffinity(Wire):
    required: NodeSelector | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: list[PreferredSchedulingTerm] = msgspec.field(
        default_factory=list, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Wire):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] = []
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] = []
    mismatch_label_keys: list[str] = []


class WeightedPodAffinityTerm(Wire):
    weight: Int32
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire):
    required: list[PodAffinityTerm] = msgspec.field(
        default_factory=list, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: list[WeightedPodAffinityTerm] = msgspec.field(
        default_factory=list, name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Wire):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class TopologySpreadConstraint(Wire):
    max_skew: Int32
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: list[str] = []


# Pods


class ResourceRequirements(Wire):
    requests: Quantities = {}
    limits: Quantities = {}


class ContainerPort(Wire):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Wire):
    name: str = ""
    image: str = ""
    resources: ResourceRequirements | None = None
    ports: list[ContainerPort] = []
    restart_policy: str | None = None


class ClaimSource(Wire):
    claim_name: str
    read_only: bool = False


class GcePersistentDisk(Wire):
    pd_name: str
    read_only: bool = False


class AwsElasticBlockStore(Wire):
    volume_id: str = msgspec.field(name="volumeID")
    read_only: bool = False


class Iscsi(Wire):
    iqn: str
    read_only: bool = False


class Rbd(Wire):
    monitors: list[str] = []
    image: str = ""
    pool: str = "rbd"
    read_only: bool = False


class ImageSource(Wire):
    reference: str = ""


class Volume(Wire):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, Any] | None = None
    empty_dir: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None
    image: ImageSource | None = None
    gce_persistent_disk: GcePersistentDisk | None = msgspec.field(default=None, name="gcePersistentDisk")
    aws_elastic_block_store: AwsElasticBlockStore | None = None
    iscsi: Iscsi | None = None
    rbd: Rbd | None = None


class SchedulingGate(Wire):
    name: str


class PodResourceClaim(Wire):
    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Wire):
    containers: list[Container] = []
    init_containers: list[Container] = []
    overhead: Quantities = {}
    resources: ResourceRequirements | None = None
    node_name: str = ""
    scheduler_name: str = "default-scheduler"
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str | None = None
    node_selector: Text = {}
    affinity: Affinity | None = None
    tolerations: list[Toleration] = []
    topology_spread_constraints: list[TopologySpreadConstraint] = []
    scheduling_gates: list[SchedulingGate] = []
    volumes: list[Volume] = []
    resource_claims: list[PodResourceClaim] = []
    host_network: bool = False
    termination_grace_period_seconds: float | None = None


class Condition(Wire):
    type: str
    status: str = ""
    reason: str = ""
    last_transition_time: str | None = None
    last_heartbeat_time: str | None = None


class ContainerStatus(Wire):
    name: str = ""
    allocated_resources: Quantities = {}
    resources: ResourceRequirements | None = None


class PodStatus(Wire):
    phase: str = "Pending"
    conditions: list[Condition] = []
    nominated_node_name: str = ""
    start_time: str | None = None
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class Pod(Wire):
    metadata: Metadata
    spec: PodSpec = msgspec.field(default_factory=PodSpec)
    status: PodStatus = msgspec.field(default_factory=PodStatus)


# Nodes


class Taint(Wire):
    key: str
    effect: str
    value: str = ""


class NodeSpec(Wire):
    unschedulable: bool = False
    taints: list[Taint] = []


class ContainerImage(Wire):
    names: list[str] = []
    size_bytes: Int64 = 0


class NodeStatus(Wire):
    allocatable: Quantities = {}
    capacity: Quantities = {}
    conditions: list[Condition] = []
    images: list[ContainerImage] = []
    declared_features: list[str] = []


class Node(Wire):
    metadata: Metadata
    spec: NodeSpec = msgspec.field(default_factory=NodeSpec)
    status: NodeStatus = msgspec.field(default_factory=NodeStatus)


class CsiAllocatable(Wire):
    count: Int32 | None = None


class CsiDriver(Wire):
    name: str
    allocatable: CsiAllocatable | None = None


class CsiNodeSpec(Wire):
    drivers: list[CsiDriver] | None = None  # a kubelet without any writes null


class CSINode(Wire):
    metadata: Metadata
    spec: CsiNodeSpec = msgspec.field(default_factory=CsiNodeSpec)


# Workloads


class PodTemplate(Wire):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class WorkloadSpec(Wire):
    replicas: Int32 | None = None
    parallelism: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class _Workload(Wire):
    metadata: Metadata
    spec: WorkloadSpec = msgspec.field(default_factory=WorkloadSpec)


class Deployment(_Workload):
    pass


class ReplicaSet(_Workload):
    pass


class StatefulSet(_Workload):
    pass


class DaemonSet(_Workload):
    pass


class Job(_Workload):
    pass


class ReplicationControllerSpec(Wire):
    replicas: Int32 | None = None
    selector: Text = {}
    template: PodTemplate = msgspec.field(default_factory=PodTemplate)


class ReplicationController(Wire):
    metadata: Metadata
    spec: ReplicationControllerSpec = msgspec.field(default_factory=ReplicationControllerSpec)


class CronJob(Wire):
    metadata: Metadata


AnyWorkload = Deployment | ReplicaSet | StatefulSet | DaemonSet | Job


# Around them


class ServiceSpec(Wire):
    selector: Text = {}
    traffic_distribution: str | None = None


class Service(Wire):
    metadata: Metadata
    spec: ServiceSpec = msgspec.field(default_factory=ServiceSpec)


class BudgetSpec(Wire):
    selector: LabelSelector | None = None
    min_available: IntOrText | None = None
    max_unavailable: IntOrText | None = None


class BudgetStatus(Wire):
    disruptions_allowed: Int32 | None = None


class PodDisruptionBudget(Wire):
    metadata: Metadata
    spec: BudgetSpec = msgspec.field(default_factory=BudgetSpec)
    status: BudgetStatus = msgspec.field(default_factory=BudgetStatus)


class Namespace(Wire):
    metadata: Metadata


class ClaimSpec(Wire):
    volume_name: str = ""
    storage_class_name: str | None = None
    access_modes: list[str] = []
    resources: ResourceRequirements = msgspec.field(default_factory=ResourceRequirements)
    volume_mode: str = "Filesystem"
    selector: LabelSelector | None = None


class PersistentVolumeClaim(Wire):
    metadata: Metadata
    spec: ClaimSpec = msgspec.field(default_factory=ClaimSpec)


class VolumeNodeAffinity(Wire):
    required: NodeSelector | None = None


class ClaimReference(Wire):
    name: str = ""
    namespace: str = ""


class CsiSource(Wire):
    driver: str = ""


class PersistentVolumeSpec(Wire):
    capacity: Quantities = {}
    access_modes: list[str] = []
    claim_ref: ClaimReference | None = None
    storage_class_name: str = ""
    node_affinity: VolumeNodeAffinity | None = None
    csi: CsiSource | None = None
    volume_mode: str = "Filesystem"


class PersistentVolumeStatus(Wire):
    phase: str = "Available"


class PersistentVolume(Wire):
    metadata: Metadata
    spec: PersistentVolumeSpec = msgspec.field(default_factory=PersistentVolumeSpec)
    status: PersistentVolumeStatus = msgspec.field(default_factory=PersistentVolumeStatus)


class TopologyExpression(Wire):
    key: str
    values: list[str] = []


class TopologyTerm(Wire):
    match_label_expressions: list[TopologyExpression] = []


class StorageClass(Wire):
    metadata: Metadata
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: list[TopologyTerm] = []


class PriorityClass(Wire):
    metadata: Metadata
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


# Ours, group ecotone.dev


class NetworkMapSpec(Wire):
    topology_key: str
    rtt: dict[str, dict[str, float | None]] = {}


class NetworkMap(Wire):
    metadata: Metadata
    spec: NetworkMapSpec


class Slo(Wire):
    percentile: float = 95.0
    milliseconds: float = 0.0


class Qos(Wire):
    latency: dict[str, float | None] = {}


class DeschedulerSpec(Wire):
    """What an AppGroup says about descheduling; what it leaves out is the profile's."""

    policy: str | None = None
    min_gain_milliseconds: float | None = None
    min_relative_gain: float | None = None
    cool_down_seconds: float | None = None
    rescue_after_seconds: float | None = None
    max_moves_per_run: Int32 | None = None
    windows: list[str] = []
    single_replicas: str | None = None


class AppGroupSpec(Wire):
    run_period: float = 30.0
    name: str = ""
    namespace: str | None = None
    window: str = ""
    dialect: str = "auto"
    queries: Text = {}
    paused: bool = False
    slo: Slo | None = None
    qos: Qos | None = None
    descheduler: DeschedulerSpec | None = None


class AppGroup(Wire):
    metadata: Metadata
    spec: AppGroupSpec = msgspec.field(default_factory=AppGroupSpec)
    status: dict[str, Any] = {}


class ClusterSpec(Wire):
    run_period: float = 30.0
    node_selector: Text = {}
    window: str = ""


class Cluster(Wire):
    metadata: Metadata
    spec: ClusterSpec = msgspec.field(default_factory=ClusterSpec)


class ReservationSpec(Wire):
    workload: str
    node: str
    kind: str = ""
    pod_template_hash: str = ""
    resources: Quantities = {}
    replaces_uid: str = msgspec.field(default="", name="replacesUID")
    expires: str = ""
    priority: Int64 = 0


class ReservationStatus(Wire):
    taken_by: str = ""


class Reservation(Wire):
    metadata: Metadata
    spec: ReservationSpec
    status: ReservationStatus = msgspec.field(default_factory=ReservationStatus)


class SnapshotState(Wire):
    """What decisions remember beyond Kubernetes objects; the last document of a dumped snapshot."""

    now: float
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    seed: Int64 = 0
    max_age: float = 300.0
    memory: dict[str, Any] = {}
    last_moves: dict[str, float] = {}
    assumed: list[str] = []
    vouched: bool = False
    """Whether somebody answered for what was measured; else an owner's figures count in his own namespace alone."""


class Kind(msgspec.Struct, frozen=True):
    """Where a kind lives: its API group, the shape to decode it with, and whether it belongs to a namespace."""

    group: str
    shape: type[Any]
    namespaced: bool = True


ECOTONE = "ecotone.dev"

KINDS: dict[str, Kind] = {
    "Pod": Kind("", Pod),
    "Node": Kind("", Node, namespaced=False),
    "Namespace": Kind("", Namespace, namespaced=False),
    "Service": Kind("", Service),
    "ReplicationController": Kind("", ReplicationController),
    "PersistentVolume": Kind("", PersistentVolume, namespaced=False),
    "PersistentVolumeClaim": Kind("", PersistentVolumeClaim),
    "Deployment": Kind("apps", Deployment),
    "ReplicaSet": Kind("apps", ReplicaSet),
    "StatefulSet": Kind("apps", StatefulSet),
    "DaemonSet": Kind("apps", DaemonSet),
    "Job": Kind("batch", Job),
    "CronJob": Kind("batch", CronJob),
    "PodDisruptionBudget": Kind("policy", PodDisruptionBudget),
    "StorageClass": Kind("storage.k8s.io", StorageClass, namespaced=False),
    "CSINode": Kind("storage.k8s.io", CSINode, namespaced=False),
    "PriorityClass": Kind("scheduling.k8s.io", PriorityClass, namespaced=False),
    "NetworkMap": Kind(ECOTONE, NetworkMap, namespaced=False),
    "AppGroup": Kind(ECOTONE, AppGroup),
    "Cluster": Kind(ECOTONE, Cluster, namespaced=False),
    "Reservation": Kind(ECOTONE, Reservation),
    "SnapshotState": Kind(ECOTONE, SnapshotState, namespaced=False),
}
