"""A snapshot as Kubernetes objects that read back to the same decisions.

Whatever a snapshot was made of, files, a live cache or a simulation, it is written from the model itself. So any moment of
any run becomes a file that `-f` reads, and a decision that surprised somebody becomes a test. The last document is a
`SnapshotState`: the time, the seed, and what policies remember.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ecotone.manifests import keys, wire
from ecotone.manifests.reading.pods import need_name
from ecotone.manifests.reading.storage import SELECTED_NODE
from ecotone.manifests.replay import key_text
from ecotone.manifests.store import WORKLOADS
from ecotone.manifests.times import show_time
from ecotone.manifests.writing import selectors
from ecotone.manifests.writing.pods import pod_object, quantities
from ecotone.model.columns.network import known
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
)
from ecotone.model.snapshot import Snapshot

_VERSIONS = {"": "v1", wire.ECOTONE: f"{wire.ECOTONE}/v1alpha1"}


def snapshot_documents(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Every object of the snapshot, ready for YAML or JSON."""
    return [_document(kind, each) for kind, each in snapshot_objects(snapshot)]


def _document(kind: str, given: Any) -> dict[str, Any]:
    group = wire.KINDS[kind].group
    body: dict[str, Any] = msgspec.to_builtins(given)
    return {"apiVersion": _VERSIONS.get(group, f"{group}/v1"), "kind": kind, **body}


def snapshot_objects(snapshot: Snapshot) -> Iterator[tuple[str, Any]]:
    for name, labels in snapshot.namespaces.items():
        yield "Namespace", wire.Namespace(metadata=wire.Metadata(name=name, labels=dict(labels)))
    for node in snapshot.nodes.nodes:
        yield "Node", _node(node)
        if node.attachable:
            yield "CSINode", _csi_node(node)
    for position, given in enumerate(snapshot.maps):
        rtt: dict[str, dict[str, float | None]] = {
            origin: {to: ms for to, ms in row.items() if known(ms)} for origin, row in given.rtt.items()
        }
        spec = wire.NetworkMapSpec(topology_key=given.topology_key, rtt=rtt)
        yield "NetworkMap", wire.NetworkMap(metadata=wire.Metadata(name=f"map-{position}"), spec=spec)
    yield from _storage(snapshot)
    for budget in snapshot.budgets:
        yield "PodDisruptionBudget", _budget(budget)
    for service in snapshot.services:
        yield "Service", _service(service)
    for reservation in snapshot.reservations:
        yield "Reservation", _reservation(reservation)
    for group in snapshot.app_groups:
        yield "AppGroup", _app_group(group)
    for workload in snapshot.workloads.values():
        if workload.key.kind in WORKLOADS:
            yield workload.key.kind, _workload(workload)
    yield from _pods(snapshot)
    yield "SnapshotState", _state(snapshot)


def _node(node: Node) -> wire.Node:
    labels = dict(node.labels)
    if node.tier is not None:
        labels.setdefault(keys.TIER, node.tier)
    if node.price_per_hour and keys.number(labels.get(keys.PRICE)) != node.price_per_hour:
        labels[keys.PRICE] = keys.decimal(node.price_per_hour)
    return wire.Node(
        metadata=wire.Metadata(name=node.name, labels=labels, annotations=_node_notes(node)),
        spec=wire.NodeSpec(
            unschedulable=node.unschedulable,
            taints=[wire.Taint(key=each.key, value=each.value, effect=each.effect) for each in node.taints],
        ),
        status=wire.NodeStatus(
            allocatable=quantities(node.allocatable.items()),
            conditions=[_ready(node)],
            images=[wire.ContainerImage(names=[name], size_bytes=size) for name, size in node.images.items()],
            declared_features=sorted(node.declared_features),
        ),
    )


def _ready(node: Node) -> wire.Condition:
    since = None if node.unready_since is None else show_time(node.unready_since)
    return wire.Condition(type="Ready", status="True" if node.ready else "False", last_transition_time=since)


def _node_notes(node: Node) -> dict[str, str]:
    position = node.coordinates
    told = {
        keys.AVAILABLE_CPU: None if node.available_cpu is None else _measured(node.available_cpu, "m"),
        keys.AVAILABLE_MEMORY: None if node.available_memory is None else _measured(node.available_memory, ""),
        keys.LATENCIES: _numbers(node.latencies),
        keys.BANDWIDTHS: _numbers(node.bandwidths),
        keys.LOSSES: _numbers(node.losses),
        keys.MEASURED_AT: None if node.measured_at is None else show_time(node.measured_at),
        keys.COORDINATES: None
        if position is None
        else json.dumps({"vector": list(position.vector), "height": position.height, "error": position.error}),
    }
    return {key: text for key, text in told.items() if text is not None}


def _measured(value: float, unit: str) -> str:
    per_unit = 1000 if unit == "m" else 1
    return keys.decimal(keys.without_dust(value, per_unit)) + unit if known(value) else "unknown"


def _numbers(values: Mapping[str, float] | None) -> str | None:
    return None if values is None else json.dumps({peer: value for peer, value in values.items() if known(value)})


def _decimal(value: float | None) -> str | None:
    return None if value is None or not known(value) else keys.decimal(value)


def _csi_node(node: Node) -> wire.CSINode:
    drivers = [
        wire.CsiDriver(name=name, allocatable=wire.CsiAllocatable(count=count))
        for name, count in node.attachable.items()
    ]
    return wire.CSINode(metadata=wire.Metadata(name=node.name), spec=wire.CsiNodeSpec(drivers=drivers))


# Workloads and their pods


def workload_notes(workload: Workload) -> dict[str, str]:
    """What is known of a workload, as annotations."""
    at = workload.measured_at
    told = {
        keys.CPU_USAGE: None if workload.cpu_usage is None else _measured(workload.cpu_usage.value, "m"),
        keys.MEMORY_USAGE: None if workload.memory_usage is None else _measured(workload.memory_usage.value, ""),
        keys.TRAFFIC: _numbers(workload.traffic),
        keys.REQUESTS: _numbers(workload.requests),
        keys.CALLS: _numbers(workload.calls),
        keys.EDGE_SHARE: _decimal(workload.edge_share),
        keys.TARGET_LATENCY: _decimal(workload.target_latency_ms),
        keys.REDUNDANCY: workload.redundancy,
        keys.AFFINITY: _numbers(workload.affinity),
        keys.DEADLINES: _numbers(workload.deadlines) if workload.deadlines else None,
        keys.SOFT_DEADLINES: _numbers(workload.soft_deadlines) if workload.soft_deadlines else None,
        keys.PROTOCOLS: _protocols(workload.synchronous) if workload.synchronous else None,
        keys.MEASURED_AT: None if at is None else show_time(at),
        keys.EXTERNAL: "true" if workload.external else None,
    }
    return {key: text for key, text in told.items() if text is not None}


def _protocols(synchronous: Mapping[str, bool]) -> str:
    return json.dumps({peer: "HTTP" if waits else "AMQP" for peer, waits in synchronous.items()})


def _workload(workload: Workload) -> Any:
    labels = {} if workload.app_group is None else {keys.APP_GROUP: workload.app_group}
    template = {} if workload.index is None else {keys.INDEX: str(workload.index)}
    selector = None if workload.selector is None else selectors.label_selector(workload.selector)
    job = workload.key.kind == "Job"
    return wire.KINDS[workload.key.kind].shape(
        metadata=wire.Metadata(
            name=workload.key.name,
            namespace=workload.key.namespace,
            labels=labels,
            annotations=workload_notes(workload),
        ),
        spec=wire.WorkloadSpec(
            replicas=None if job else workload.replicas,
            parallelism=workload.replicas if job else None,
            selector=selector,
            template=wire.PodTemplate(metadata=wire.Metadata(labels=template)),
        ),
    )


def _pods(snapshot: Snapshot) -> Iterator[tuple[str, Any]]:
    between: set[tuple[str, str, str]] = set()
    for pod in snapshot.pods():
        owner = _owner(pod)
        if owner is not None and owner.kind in ("ReplicaSet", "Job") and pod.kind.workload.kind != owner.kind:
            passed = (pod.namespace, owner.kind, owner.name)
            if passed not in between:
                between.add(passed)
                yield owner.kind, _between(pod, owner)
        workload = snapshot.workloads.get(pod.kind.workload)
        bare = owner is None and workload is not None and workload.key.kind not in WORKLOADS
        notes = workload_notes(workload) if bare and workload is not None else {}
        given = pod_object(pod, now=snapshot.now, owner=owner, notes=notes)
        group = pod.kind.app_group
        if group is not None and (workload is None or workload.app_group != group):
            given.metadata.labels.setdefault(keys.APP_GROUP, group)
        yield "Pod", given


def _owner(pod: Pod) -> wire.OwnerReference | None:
    if pod.owner is not None:
        kind, _, name = pod.owner.partition("/")
        return wire.OwnerReference(kind=kind, name=name, controller=True)
    key, labels = pod.kind.workload, dict(pod.kind.labels)
    if key.kind not in WORKLOADS or (labels.get(keys.APP) == key.name and keys.APP_GROUP in labels):
        return None
    return wire.OwnerReference(kind=key.kind, name=key.name, controller=True)


def _between(pod: Pod, owner: wire.OwnerReference) -> Any:
    """The ReplicaSet (or Job) between a pod and its workload."""
    above = wire.OwnerReference(kind=pod.kind.workload.kind, name=pod.kind.workload.name, controller=True)
    metadata = wire.Metadata(name=owner.name, namespace=pod.namespace, owner_references=[above])
    need_name(metadata, owner.kind)
    return wire.KINDS[owner.kind].shape(metadata=metadata)


# Around them


def _storage(snapshot: Snapshot) -> Iterator[tuple[str, Any]]:
    for each in snapshot.storage_classes.values():
        yield "StorageClass", _storage_class(each)
    for volume in snapshot.volumes.values():
        yield "PersistentVolume", _volume(volume)
    for claim in snapshot.claims.values():
        yield "PersistentVolumeClaim", _claim(claim)


def _storage_class(given: StorageClass) -> wire.StorageClass:
    terms = [
        wire.TopologyTerm(
            match_label_expressions=[
                wire.TopologyExpression(key=each.key, values=list(each.values)) for each in term.expressions
            ]
        )
        for topology in given.topologies
        for term in topology.required or ()
    ]
    return wire.StorageClass(
        metadata=wire.Metadata(name=given.name),
        provisioner=given.provisioner,
        volume_binding_mode="WaitForFirstConsumer" if given.waits_for_consumer else "Immediate",
        allowed_topologies=terms,
    )


def _volume(given: Volume) -> wire.PersistentVolume:
    required = selectors.node_selector(given.node_affinity.required)
    namespace, _, name = (given.claim or "").partition("/")
    return wire.PersistentVolume(
        metadata=wire.Metadata(name=given.name, labels=dict(given.labels)),
        spec=wire.PersistentVolumeSpec(
            capacity={"storage": str(given.capacity)} if given.capacity else {},
            access_modes=sorted(given.access_modes),
            claim_ref=None if given.claim is None else wire.ClaimReference(namespace=namespace, name=name),
            storage_class_name=given.storage_class or "",
            node_affinity=None if required is None else wire.VolumeNodeAffinity(required=required),
            csi=None if given.driver is None else wire.CsiSource(driver=given.driver),
            volume_mode=given.mode,
        ),
        status=wire.PersistentVolumeStatus(phase="Available" if given.available else "Bound"),
    )


def _claim(given: Claim) -> wire.PersistentVolumeClaim:
    return wire.PersistentVolumeClaim(
        metadata=wire.Metadata(
            name=given.name,
            namespace=given.namespace,
            deletion_timestamp=show_time(0.0) if given.deleting else None,
            annotations={} if given.selected_node is None else {SELECTED_NODE: given.selected_node},
        ),
        spec=wire.ClaimSpec(
            volume_name=given.volume or "",
            storage_class_name=given.storage_class,
            access_modes=sorted(given.access_modes),
            resources=wire.ResourceRequirements(requests={"storage": str(given.request)} if given.request else {}),
            volume_mode=given.mode,
            selector=None if given.selector is None else selectors.label_selector(given.selector),
        ),
    )


def _budget(given: DisruptionBudget) -> wire.PodDisruptionBudget:
    return wire.PodDisruptionBudget(
        metadata=wire.Metadata(name=given.name, namespace=given.namespace),
        spec=wire.BudgetSpec(selector=selectors.label_selector(given.selector)),
        status=wire.BudgetStatus(disruptions_allowed=given.allowed),
    )


def _service(given: ServiceSelector) -> wire.Service:
    selector = {each.key: each.values[0] for each in given.selector.requirements}
    return wire.Service(
        metadata=wire.Metadata(name=given.name, namespace=given.namespace),
        spec=wire.ServiceSpec(selector=selector, traffic_distribution=given.traffic_distribution),
    )


def _app_group(given: AppGroup) -> wire.AppGroup:
    slo = None if given.slo_ms is None else wire.Slo(percentile=given.slo_percentile, milliseconds=given.slo_ms)
    return wire.AppGroup(
        metadata=wire.Metadata(name=given.name, namespace=given.namespace),
        spec=wire.AppGroupSpec(
            name=given.name, slo=slo, qos=wire.Qos(latency=dict(given.tier_latency_ms)), paused=given.paused
        ),
    )


def _reservation(given: Reservation) -> wire.Reservation:
    return wire.Reservation(
        metadata=wire.Metadata(name=given.name, namespace=given.namespace),
        spec=wire.ReservationSpec(
            kind=given.workload.kind,
            workload=given.workload.name,
            node=given.node,
            pod_template_hash=given.template_hash,
            resources=quantities(given.requests),
            replaces_uid=given.replaces_uid,
            expires="" if given.expires == float("inf") else show_time(given.expires),
            priority=given.priority,
        ),
        status=wire.ReservationStatus(taken_by=given.taken_by),
    )


def _state(snapshot: Snapshot) -> wire.SnapshotState:
    return wire.SnapshotState(
        metadata=wire.Metadata(name="snapshot"),
        now=snapshot.now,
        seed=snapshot.seed,
        max_age=snapshot.max_age,
        memory=msgspec.to_builtins(dict(snapshot.memory), str_keys=True),
        last_moves={key_text(key): at for key, at in snapshot.last_moves.items()},
        assumed=sorted(snapshot.usage.recent_keys),
        vouched=snapshot.vouched,
    )
