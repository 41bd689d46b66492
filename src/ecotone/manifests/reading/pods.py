"""A pod of the API as the model's: what makes it this pod, and the kind it shares with its replicas.

Kinds are interned: every replica of a workload refers to the same `PodKind` object, so a cluster of fifty thousand pods
holds a few thousand specs, and comparing two of them is comparing two addresses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import msgspec

from ecotone.manifests import keys, wire
from ecotone.manifests.reading import selectors
from ecotone.manifests.reading.requests import cpu_limit, effective
from ecotone.manifests.times import time_or_none
from ecotone.model.errors import InputError
from ecotone.model.objects import HostPort, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.quantity import LARGEST

DEFAULT_NAMESPACE = "default"
MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
PINS = (
    ("ecotone.dev/descheduling", "disabled"),
    ("cluster-autoscaler.kubernetes.io/safe-to-evict", "false"),
    ("karpenter.sh/do-not-disrupt", "true"),
)
# Sockets, certificates and configuration that a mesh's injector mounts; made anew with every pod.
SIDECAR_VOLUMES = frozenset(
    {
        *("workload-socket", "credential-socket", "workload-certs", "istio-envoy", "istio-data"),
        *("linkerd-identity-end-entity", "linkerd-proxy-init-xtables-lock", "consul-connect-inject-data"),
    }
)
TEMPLATE_HASHES = ("pod-template-hash", "controller-revision-hash")


class Template(msgspec.Struct, frozen=True, eq=False):
    """What pods that were written alike have in common: their kind, all but the workload."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    spec: PodSpec
    app: str | None
    app_group: str | None
    index: int | None
    role: str | None
    max_latency_ms: float | None
    hash: str

    def kind(self, workload: WorkloadKey, app_group: str | None) -> PodKind:
        return PodKind(
            namespace=self.namespace,
            workload=workload,
            labels=self.labels,
            spec=self.spec,
            app_group=app_group,
            index=self.index,
            role=self.role,
            max_latency_ms=self.max_latency_ms,
        )


class Interner(msgspec.Struct):
    """One object for equal values, as long as it is in use. `dumped`: the pods come from a dumped snapshot."""

    specs: dict[PodSpec, PodSpec] = msgspec.field(default_factory=dict)
    seen: dict[bytes, Template] = msgspec.field(default_factory=dict)
    kinds: dict[PodKind, PodKind] = msgspec.field(default_factory=dict)
    alike: dict[tuple[Template, WorkloadKey, str | None], PodKind] = msgspec.field(default_factory=dict)
    dumped: bool = False
    least: int = 4096
    full_at: int = 4096

    @property
    def full(self) -> bool:
        return len(self.kinds) > self.full_at or len(self.seen) > self.full_at or len(self.alike) > 2 * self.full_at

    def keep(self, kinds: Iterable[PodKind]) -> None:
        """Lets go of all but these; asked again only when as many new ones have come, so a pod's share stays small."""
        self.kinds = {kind: kind for kind in kinds}
        self.specs = {kind.spec: kind.spec for kind in self.kinds}
        self.seen = {}
        self.alike = {}
        self.full_at = max(self.least, 2 * len(self.kinds))

    def template(self, given: wire.Pod, priorities: Priorities) -> Template:
        """The pod's template; one that was read before, to the last byte, is not worked out again."""
        key = _template_bytes(given, dumped=self.dumped)
        known = None if key is None else self.seen.get(key)
        if known is None:
            spec = to_spec(given, priorities=priorities, dumped=self.dumped)
            known = _to_template(given.metadata, self.specs.setdefault(spec, spec))
            if key is not None:
                self.seen[key] = known
        return known

    def kind(self, template: Template, workload: WorkloadKey, app_group: str | None) -> PodKind:
        asked = (template, workload, app_group)
        known = self.alike.get(asked)
        if known is None:
            made = template.kind(workload, app_group)
            known = self.alike[asked] = self.kinds.setdefault(made, made)
        return known

    def again(self, kind: PodKind) -> PodKind:
        return self.kinds.setdefault(kind, kind)


def _to_template(meta: wire.Metadata, spec: PodSpec) -> Template:
    labels = meta.labels
    return Template(
        namespace=namespace_of(meta),
        labels=tuple(sorted(labels.items())),
        spec=spec,
        app=labels.get(keys.APP),
        app_group=labels.get(keys.APP_GROUP),
        index=keys.index(labels),
        role=labels.get(keys.ROLE),
        max_latency_ms=keys.milliseconds(meta.annotations.get(keys.MAX_LATENCY)),
        hash=next((labels[key] for key in TEMPLATE_HASHES if key in labels), ""),
    )


class Priorities(msgspec.Struct, frozen=True):
    """Priority classes by name, for pods that only name theirs."""

    classes: Mapping[str, wire.PriorityClass] = msgspec.field(default_factory=dict)

    def of(self, spec: wire.PodSpec) -> tuple[int, str]:
        """Priority and preemption policy: the pod's own, else its class's, else the global default's."""
        named = self.classes.get(spec.priority_class_name)
        if named is None and not spec.priority_class_name:
            named = next((each for each in self.classes.values() if each.global_default), None)
        value = SYSTEM_CLASSES.get(spec.priority_class_name, 0) if named is None else named.value
        policy = "PreemptLowerPriority" if named is None else named.preemption_policy
        return (value if spec.priority is None else spec.priority), spec.preemption_policy or policy


NO_PRIORITIES = Priorities()


def namespace_of(metadata: wire.Metadata) -> str:
    return metadata.namespace or DEFAULT_NAMESPACE


def controller_of(metadata: wire.Metadata) -> wire.OwnerReference | None:
    """The owner in charge; a lone reference counts even if it forgot to say so."""
    owners = metadata.owner_references
    return next((each for each in owners if each.controller), owners[0] if len(owners) == 1 else None)


def to_pod(
    given: wire.Pod,
    *,
    workload: WorkloadKey,
    app_group: str | None = None,
    priorities: Priorities = NO_PRIORITIES,
    interner: Interner | None = None,
) -> Pod:
    """The model's pod; `workload` and its group come from the owners, which the pod itself does not know."""
    interner = Interner() if interner is None else interner
    template = interner.template(given, priorities)
    return pod_of(given, template, interner.kind(template, workload, template.app_group or app_group))


def pod_of(given: wire.Pod, template: Template, kind: PodKind) -> Pod:
    """What makes it this pod, beside its kind."""
    meta, status = given.metadata, given.status
    scheduled = ready = None
    for condition in status.conditions:
        if condition.type == "PodScheduled":
            scheduled = condition
        elif condition.type == "Ready" and condition.status == "True":
            ready = condition
    bound = given.spec.node_name or None
    owner = controller_of(meta) if meta.owner_references else None
    notes = meta.annotations
    return Pod(
        name=meta.name,
        uid=meta.uid or f"{template.namespace}/{meta.name}",
        kind=kind,
        node=bound,
        phase=status.phase,
        created=time_or_none(meta.creation_timestamp) or 0.0,
        bound_at=_bound_at(scheduled, status) if bound else None,
        ready=ready is not None,
        ready_at=None if ready is None else time_or_none(ready.last_transition_time),
        deleting=meta.deletion_timestamp is not None,
        nominated=status.nominated_node_name or None,
        owner=None if owner is None else f"{owner.kind}/{owner.name}",
        mirror=is_mirror(meta, owner),
        deletion_cost=_deletion_cost(notes) if DELETION_COST in notes else 0,
        template_hash=template.hash,
        pinned=_pinned(notes) if notes else "",
        storage_expendable=SAFE_VOLUMES in notes
        and _local_volumes(given.spec) <= {name.strip() for name in notes[SAFE_VOLUMES].split(",")},
    )


def _pinned(annotations: Mapping[str, str]) -> str:
    for key, value in PINS:
        if annotations.get(key) == value:
            return f'annotation {key}: "{value}"'
    return ""


def _local_volumes(spec: wire.PodSpec) -> set[str]:
    """Volumes whose data would be lost with the pod and missed: not those in memory, nor those of injected sidecars."""
    return {
        each.name
        for each in spec.volumes
        if each.host_path is not None
        or (
            each.empty_dir is not None and each.empty_dir.get("medium") != "Memory" and each.name not in SIDECAR_VOLUMES
        )
    }


def is_mirror(meta: wire.Metadata, owner: wire.OwnerReference | None) -> bool:
    return MIRROR in meta.annotations or (owner is not None and owner.kind == "Node")


_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


def _template_bytes(given: wire.Pod, *, dumped: bool) -> bytes | None:
    """All that a template is made of, apart from the node; None where a pod's name or a class elsewhere is part of it."""
    spec = given.spec
    if spec.priority is None or any(volume.ephemeral is not None for volume in spec.volumes):
        return None
    node, spec.node_name = spec.node_name, ""
    told = given.metadata.annotations.get(keys.NONZERO) if dumped else None
    most = given.metadata.annotations.get(keys.MAX_LATENCY)
    status = given.status
    resizing = any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in status.conditions)
    seen = [each for each in (*status.container_statuses, *status.init_container_statuses) if each.resources]
    try:
        return _ENCODER.encode((given.metadata.namespace, given.metadata.labels, told, most, resizing, spec, seen))
    finally:
        spec.node_name = node


def _bound_at(scheduled: wire.Condition | None, status: wire.PodStatus) -> float | None:
    if scheduled is not None and scheduled.status == "True":
        return time_or_none(scheduled.last_transition_time)
    return time_or_none(status.start_time)


def _deletion_cost(annotations: Mapping[str, str]) -> int:
    """As the API server accepts it: 32 bits, else it does not count."""
    text = annotations.get(DELETION_COST, "0")
    cost = int(text) if re.fullmatch(r"[+-]?\d{1,10}", text, flags=re.ASCII) else 0
    return cost if -(2**31) <= cost < 2**31 else 0


def to_spec(given: wire.Pod, *, priorities: Priorities = NO_PRIORITIES, dumped: bool = False) -> PodSpec:
    spec, meta = given.spec, given.metadata
    namespace = namespace_of(meta)
    requests, nonzero = effective(spec, given.status)
    if dumped:
        nonzero = _told_nonzero(meta.annotations) or nonzero
    priority, preemption = priorities.of(spec)
    affinity = spec.affinity or wire.Affinity()
    return PodSpec(
        requests=tuple(sorted((name, amount) for name, amount in requests.items() if amount and name != "pods")),
        nonzero=nonzero,
        scheduler_name=spec.scheduler_name,
        priority=priority,
        preemption_policy=preemption,
        node_selector=tuple(sorted(spec.node_selector.items())),
        node_affinity=selectors.node_affinity(affinity.node_affinity),
        pod_affinity=selectors.pod_affinity(affinity.pod_affinity, namespace=namespace, labels=meta.labels),
        pod_anti_affinity=selectors.pod_affinity(affinity.pod_anti_affinity, namespace=namespace, labels=meta.labels),
        tolerations=tuple(selectors.toleration(each) for each in spec.tolerations),
        spread=tuple(
            selectors.spread_constraint(each, labels=meta.labels) for each in spec.topology_spread_constraints
        ),
        host_ports=_host_ports(spec),
        images=_images(spec),
        containers=len(spec.containers) + len(spec.init_containers),
        gates=tuple(gate.name for gate in spec.scheduling_gates),
        claims=_claims(spec, pod=meta.name),
        restricted_volumes=tuple(sorted(_restricted(spec.volumes))),
        local_storage=bool(_local_volumes(spec)),
        resource_claims=tuple(
            each.resource_claim_name or each.resource_claim_template_name or each.name for each in spec.resource_claims
        ),
        grace_seconds=_grace(spec.termination_grace_period_seconds),
        cpu_limit=cpu_limit(spec),
    )


def _told_nonzero(annotations: Mapping[str, str]) -> tuple[int, int] | None:
    """A dumped pod has one container left; what its containers counted for is told beside it.

    On other objects the key means nothing: whoever may create a pod could write what he likes there.
    """
    told = keys.json_object(annotations.get(keys.NONZERO, "")) if keys.NONZERO in annotations else None
    amounts = [] if told is None else [told.get("cpu"), told.get("memory")]
    sound = [each for each in amounts if isinstance(each, int) and 0 <= each <= LARGEST]
    return (sound[0], sound[1]) if len(sound) == 2 else None


def _grace(given: float | None) -> float:
    """Negative means at once, as the API server has it; nobody waits for more than a century."""
    return 30.0 if given is None or math.isnan(given) else max(0.0, min(given, 3.2e9))


def _host_ports(spec: wire.PodSpec) -> tuple[HostPort, ...]:
    lasting = [each for each in spec.init_containers if each.restart_policy == "Always"]
    found = []
    for container in (*lasting, *spec.containers):
        for port in container.ports:
            number = port.host_port or (port.container_port if spec.host_network else 0)
            if number > 0:
                found.append(HostPort(number, port.protocol or "TCP", port.host_ip or HostPort(number).ip))
    return tuple(found)


def image_name(given: str) -> str:
    """With a tag, as the kubelet reports it: no tag means `latest`."""
    return given if given.rfind(":") > given.rfind("/") else f"{given}:latest"


def _images(spec: wire.PodSpec) -> tuple[str, ...]:
    held = [each.image for each in (*spec.init_containers, *spec.containers)]
    mounted = [each.image.reference for each in spec.volumes if each.image is not None]
    return tuple(image_name(each) for each in (*held, *mounted) if each)


def _claims(spec: wire.PodSpec, *, pod: str) -> tuple[str, ...]:
    """Names of the claims; a generic ephemeral volume's is made of the pod's and the volume's name."""
    found = []
    for volume in spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            found.append(f"{pod}-{volume.name}")
    return tuple(found)


def _restricted(volumes: Iterable[wire.Volume]) -> Iterable[str]:
    """Disks that two pods of a node may not share, as `type:identity[:ro]`; `rbd` names its monitors after an @."""
    for volume in volumes:
        if (disk := volume.gce_persistent_disk) is not None:
            yield f"gce-pd:{disk.pd_name}" + (":ro" if disk.read_only else "")
        elif (block := volume.aws_elastic_block_store) is not None:
            yield f"aws-ebs:{block.volume_id}"
        elif (target := volume.iscsi) is not None:
            yield f"iscsi:{target.iqn}" + (":ro" if target.read_only else "")
        elif (image := volume.rbd) is not None:
            monitors = ",".join(sorted(image.monitors))
            yield f"rbd:{image.pool}/{image.image}@{monitors}" + (":ro" if image.read_only else "")


def need_name(metadata: wire.Metadata, kind: str) -> str:
    if not metadata.name:
        raise InputError(f"{kind} without metadata.name", hint="every object needs a name")
    return metadata.name
