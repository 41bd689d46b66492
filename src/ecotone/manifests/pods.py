"""A pod of the API as the model's: what makes it this pod, and the kind it shares with its replicas.

Kinds are interned: every replica of a workload refers to the same `PodKind` object, so a cluster of fifty thousand pods
holds a few thousand specs, and comparing two of them is comparing two addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from ecotone.manifests import keys, selectors, wire
from ecotone.manifests.requests import effective
from ecotone.manifests.times import time_or_none
from ecotone.model.errors import InputError
from ecotone.model.objects import HostPort, Pod, PodKind, PodSpec, WorkloadKey

DEFAULT_NAMESPACE = "default"
MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
TEMPLATE_HASHES = ("pod-template-hash", "controller-revision-hash")


@dataclass(slots=True)
class Interner:
    """One object for equal values, as long as it is in use."""

    specs: dict[PodSpec, PodSpec] = field(default_factory=dict)
    seen: dict[bytes, PodSpec] = field(default_factory=dict)
    kinds: dict[PodKind, PodKind] = field(default_factory=dict)
    least: int = 4096
    full_at: int = 4096

    @property
    def full(self) -> bool:
        return max(len(self.kinds), len(self.seen)) > self.full_at

    def keep(self, kinds: Iterable[PodKind]) -> None:
        """Lets go of all but these; asked again only when as many new ones have come, so a pod's share stays small."""
        self.kinds = {kind: kind for kind in kinds}
        self.specs = {kind.spec: kind.spec for kind in self.kinds}
        self.seen = {}
        self.full_at = max(self.least, 2 * len(self.kinds))

    def spec(self, given: wire.Pod, priorities: Priorities) -> PodSpec:
        """The pod's spec; one that was read before, to the last byte, is not worked out again."""
        key = _spec_bytes(given)
        known = None if key is None else self.seen.get(key)
        if known is None:
            known = to_spec(given, priorities=priorities)
            known = self.specs.setdefault(known, known)
            if key is not None:
                self.seen[key] = known
        return known

    def kind(self, given: PodKind) -> PodKind:
        return self.kinds.setdefault(given, given)


@dataclass(frozen=True, slots=True)
class Priorities:
    """Priority classes by name, for pods that only name theirs."""

    classes: Mapping[str, wire.PriorityClass] = field(default_factory=dict)

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
    meta, status = given.metadata, given.status
    namespace = namespace_of(meta)
    kind = PodKind(
        namespace=namespace,
        workload=workload,
        labels=tuple(sorted(meta.labels.items())),
        spec=interner.spec(given, priorities),
        app_group=meta.labels.get(keys.APP_GROUP, app_group),
        index=keys.index(meta.labels),
        role=meta.labels.get(keys.ROLE),
        max_latency_ms=keys.milliseconds(meta.annotations.get(keys.MAX_LATENCY)),
    )
    conditions = {each.type: each for each in status.conditions}
    scheduled, ready = conditions.get("PodScheduled"), conditions.get("Ready")
    bound = given.spec.node_name or None
    owner = controller_of(meta)
    return Pod(
        name=meta.name,
        uid=meta.uid or f"{namespace}/{meta.name}",
        kind=interner.kind(kind),
        node=bound,
        phase=status.phase,
        created=time_or_none(meta.creation_timestamp) or 0.0,
        bound_at=_bound_at(scheduled, status) if bound else None,
        ready=ready is not None and ready.status == "True",
        deleting=meta.deletion_timestamp is not None,
        nominated=status.nominated_node_name or None,
        owner=None if owner is None else f"{owner.kind}/{owner.name}",
        mirror=MIRROR in meta.annotations or (owner is not None and owner.kind == "Node"),
        deletion_cost=_deletion_cost(meta.annotations),
        template_hash=next((meta.labels[key] for key in TEMPLATE_HASHES if key in meta.labels), ""),
    )


_ENCODER = msgspec.msgpack.Encoder(order="deterministic")


def _spec_bytes(given: wire.Pod) -> bytes | None:
    """All that a spec is made of, apart from the node; None where a pod's name or a class elsewhere is part of it."""
    spec = given.spec
    if spec.priority is None or any(volume.ephemeral is not None for volume in spec.volumes):
        return None
    node, spec.node_name = spec.node_name, ""
    told = given.metadata.annotations.get(keys.NONZERO)
    resizing = any(each.type == "PodResizePending" and each.reason == "Infeasible" for each in given.status.conditions)
    seen = [
        each for each in (*given.status.container_statuses, *given.status.init_container_statuses) if each.resources
    ]
    try:
        return _ENCODER.encode((namespace_of(given.metadata), given.metadata.labels, told, resizing, spec, seen))
    finally:
        spec.node_name = node


def _bound_at(scheduled: wire.Condition | None, status: wire.PodStatus) -> float | None:
    if scheduled is not None and scheduled.status == "True":
        return time_or_none(scheduled.last_transition_time)
    return time_or_none(status.start_time)


def _deletion_cost(annotations: Mapping[str, str]) -> int:
    try:
        return int(annotations.get(DELETION_COST, "0"))
    except ValueError:
        return 0


def to_spec(given: wire.Pod, *, priorities: Priorities = NO_PRIORITIES) -> PodSpec:
    spec, meta = given.spec, given.metadata
    namespace = namespace_of(meta)
    requests, nonzero = effective(spec, given.status)
    nonzero = _told_nonzero(meta.annotations) or nonzero
    priority, preemption = priorities.of(spec)
    affinity = spec.affinity or wire.Affinity()
    around = {"namespace": namespace, "labels": meta.labels}
    return PodSpec(
        requests=tuple(sorted((name, amount) for name, amount in requests.items() if amount and name != "pods")),
        nonzero=nonzero,
        scheduler_name=spec.scheduler_name,
        priority=priority,
        preemption_policy=preemption,
        node_selector=tuple(sorted(spec.node_selector.items())),
        node_affinity=selectors.node_affinity(affinity.node_affinity),
        pod_affinity=selectors.pod_affinity(affinity.pod_affinity, **around),  # type: ignore[arg-type]
        pod_anti_affinity=selectors.pod_affinity(affinity.pod_anti_affinity, **around),  # type: ignore[arg-type]
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
        local_storage=any(each.empty_dir is not None or each.host_path is not None for each in spec.volumes),
        resource_claims=tuple(
            each.resource_claim_name or each.resource_claim_template_name or each.name for each in spec.resource_claims
        ),
        grace_seconds=30.0 if spec.termination_grace_period_seconds is None else spec.termination_grace_period_seconds,
    )


def _told_nonzero(annotations: Mapping[str, str]) -> tuple[int, int] | None:
    """A dumped pod has one container left; what its containers counted for is told beside it."""
    told = keys.json_object(annotations.get(keys.NONZERO, "")) if keys.NONZERO in annotations else None
    if told is None or not isinstance(told.get("cpu"), int) or not isinstance(told.get("memory"), int):
        return None
    return told["cpu"], told["memory"]


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
