"""A pod of the model as an object of the API.

The model keeps what decisions read, so the object that comes back is smaller than the one that went in: containers only as
many as there were, the first one asking for everything. What that loses (how much containers without requests count for)
is told in an annotation, and reading the object gives the same pod again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from ecotone.manifests import keys, wire
from ecotone.manifests.reading.pods import DELETION_COST, MIRROR, TEMPLATE_HASHES
from ecotone.manifests.reading.requests import effective
from ecotone.manifests.times import show_time
from ecotone.manifests.writing import selectors
from ecotone.model.objects import Pod, PodKind, PodSpec


def quantity_text(resource: str, amount: int) -> str:
    return f"{amount}m" if resource == "cpu" else str(amount)


def quantities(requests: Iterable[tuple[str, int]]) -> wire.Quantities:
    return {resource: quantity_text(resource, amount) for resource, amount in requests}


def pod_object(pod: Pod, *, now: float, owner: wire.OwnerReference | None, notes: dict[str, str]) -> wire.Pod:
    """`notes` are the annotations of a workload that has only its pods to carry them."""
    spec = _spec(pod.spec, node=pod.node)
    annotations = {**notes, **_annotations(pod, spec)}
    return wire.Pod(
        metadata=wire.Metadata(
            name=pod.name,
            namespace=pod.namespace,
            uid=pod.uid,
            labels=_labels(pod),
            annotations=annotations,
            creation_timestamp=show_time(pod.created) if pod.created else None,
            deletion_timestamp=show_time(now) if pod.deleting else None,
            owner_references=[] if owner is None else [owner],
        ),
        spec=spec,
        status=wire.PodStatus(phase=pod.phase, conditions=_conditions(pod), nominated_node_name=pod.nominated or ""),
    )


def _labels(pod: Pod) -> dict[str, str]:
    kind: PodKind = pod.kind
    labels = dict(kind.labels)
    if kind.index is not None and keys.index(labels) != kind.index:
        labels[keys.INDEX] = str(kind.index)
    if kind.role is not None:
        labels.setdefault(keys.ROLE, kind.role)
    if pod.template_hash and not any(key in labels for key in TEMPLATE_HASHES):
        labels[TEMPLATE_HASHES[-1]] = pod.template_hash
    return labels


def _annotations(pod: Pod, spec: wire.PodSpec) -> dict[str, str]:
    found: dict[str, str] = {}
    if pod.kind.max_latency_ms is not None:
        found[keys.MAX_LATENCY] = keys.decimal(pod.kind.max_latency_ms) + "ms"
    if effective(spec)[1] != pod.spec.nonzero:
        found[keys.NONZERO] = json.dumps({"cpu": pod.spec.nonzero[0], "memory": pod.spec.nonzero[1]})
    if pod.mirror:
        found[MIRROR] = "mirror"
    if pod.deletion_cost:
        found[DELETION_COST] = str(pod.deletion_cost)
    return found


def _conditions(pod: Pod) -> list[wire.Condition]:
    found = []
    if pod.bound_at is not None:
        found.append(wire.Condition(type="PodScheduled", status="True", last_transition_time=show_time(pod.bound_at)))
    if pod.ready:
        since = None if pod.ready_at is None else show_time(pod.ready_at)
        found.append(wire.Condition(type="Ready", status="True", last_transition_time=since))
    return found


def _spec(spec: PodSpec, *, node: str | None) -> wire.PodSpec:
    return wire.PodSpec(
        containers=_containers(spec),
        node_name=node or "",
        scheduler_name=spec.scheduler_name,
        priority=spec.priority,
        preemption_policy=spec.preemption_policy,
        node_selector=dict(spec.node_selector),
        affinity=selectors.affinity(spec.node_affinity, spec.pod_affinity, spec.pod_anti_affinity),
        tolerations=[selectors.toleration(each) for each in spec.tolerations],
        topology_spread_constraints=[selectors.spread(each) for each in spec.spread],
        scheduling_gates=[wire.SchedulingGate(name=each) for each in spec.gates],
        volumes=list(_volumes(spec)),
        resource_claims=[
            wire.PodResourceClaim(name=f"claim-{position}", resource_claim_name=each)
            for position, each in enumerate(spec.resource_claims)
        ],
        termination_grace_period_seconds=int(spec.grace_seconds),  # the API takes whole seconds only
        # Beside no request a limit would be read as one.
        resources=None if spec.cpu_limit is None or not spec.request("cpu") else _limited(spec.cpu_limit),
    )


def _containers(spec: PodSpec) -> list[wire.Container]:
    found = [
        wire.Container(name=f"c{position}", image=spec.images[position] if position < len(spec.images) else "")
        for position in range(spec.containers)
    ]
    if found:
        found[0].resources = wire.ResourceRequirements(requests=quantities(spec.requests))
        found[0].ports = [
            wire.ContainerPort(container_port=each.port, host_port=each.port, host_ip=each.ip, protocol=each.protocol)
            for each in spec.host_ports
        ]
    return found


def _limited(cpu: int) -> wire.ResourceRequirements:
    return wire.ResourceRequirements(limits=quantities([("cpu", cpu)]))


def _volumes(spec: PodSpec) -> Iterable[wire.Volume]:
    for position, claim in enumerate(spec.claims):
        yield wire.Volume(name=f"claim-{position}", persistent_volume_claim=wire.ClaimSource(claim_name=claim))
    if spec.local_storage:
        yield wire.Volume(name="local", empty_dir={})
    for position, image in enumerate(spec.images[spec.containers :]):
        yield wire.Volume(name=f"image-{position}", image=wire.ImageSource(reference=image))
    for position, text in enumerate(spec.restricted_volumes):
        yield _restricted(text, f"disk-{position}")


def _restricted(text: str, name: str) -> wire.Volume:
    kind, _, rest = text.partition(":")
    read_only, identity = rest.endswith(":ro"), rest.removesuffix(":ro")
    match kind:
        case "gce-pd":
            return wire.Volume(
                name=name, gce_persistent_disk=wire.GcePersistentDisk(pd_name=identity, read_only=read_only)
            )
        case "aws-ebs":
            return wire.Volume(name=name, aws_elastic_block_store=wire.AwsElasticBlockStore(volume_id=identity))
        case "iscsi":
            return wire.Volume(name=name, iscsi=wire.Iscsi(iqn=identity, read_only=read_only))
    position, _, monitors = identity.partition("@")
    pool, _, image = position.partition("/")
    disk = wire.Rbd(monitors=monitors.split(",") if monitors else [], pool=pool, image=image, read_only=read_only)
    return wire.Volume(name=name, rbd=disk)
