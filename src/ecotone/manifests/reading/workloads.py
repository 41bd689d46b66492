"""Workloads: who owns a pod in the end, and what is known of its use and talk.

A pod's owner is a ReplicaSet and the ReplicaSet's a Deployment; a Job may belong to a CronJob. A bare pod belongs to the
workload of its `app` label within its `app-group`, else to itself, and its own annotations speak for that workload.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ecotone.manifests import keys, wire
from ecotone.manifests.measured_keys import without_measured
from ecotone.manifests.reading.pods import controller_of, namespace_of
from ecotone.manifests.reading.selectors import label_selector
from ecotone.model.objects import Measured, Workload, WorkloadKey
from ecotone.model.selectors import LabelSelector

PASSED_THROUGH = ("ReplicaSet", "Job")

OwnerOf = Callable[[str, str, str], tuple[str, str] | None]


def to_workload(kind: str, given: wire.AnyWorkload, *, believed: bool = True) -> Workload:
    """A workload from its own object: telemetry on it, channels on its pod template (or on it, as the siblings do)."""
    meta, spec, template = given.metadata, given.spec, given.spec.template.metadata
    found = _from_notes(
        WorkloadKey(namespace_of(meta), meta.name, kind),
        notes={**template.annotations, **meta.annotations},
        labels={**meta.labels, **template.labels},
        believed=believed,
    )
    replicas = spec.replicas if kind != "Job" else spec.parallelism
    return replace(
        found,
        replicas=1 if replicas is None and kind != "DaemonSet" else replicas,
        selector=label_selector(spec.selector) if spec.selector is not None else _own_labels(template),
    )


def with_figures(workload: Workload, texts: Mapping[str, str]) -> Workload:
    """The workload with figures that its AppGroup keeps for it; those on the workload itself come first."""
    if workload.measured_at is not None:
        return workload
    found = _from_notes(workload.key, notes=texts, labels={})
    return replace(
        workload,
        cpu_usage=found.cpu_usage,
        memory_usage=found.memory_usage,
        traffic=found.traffic,
        requests=found.requests,
        calls=found.calls,
        measured_at=found.measured_at,
    )


def bare_workload(key: WorkloadKey, given: wire.Pod, *, believed: bool = True) -> Workload:
    """What a pod without an owner says about its workload."""
    meta = given.metadata
    found = _from_notes(key, notes=meta.annotations, labels=meta.labels, believed=believed)
    app, group = meta.labels.get(keys.APP), meta.labels.get(keys.APP_GROUP)
    if app is None or group is None:
        return found
    return replace(found, selector=LabelSelector.of_labels({keys.APP: app, keys.APP_GROUP: group}))


def _own_labels(template: wire.Metadata) -> LabelSelector | None:
    return LabelSelector.of_labels(template.labels) if template.labels else None


def _from_notes(
    key: WorkloadKey, *, notes: Mapping[str, str], labels: Mapping[str, str], believed: bool = True
) -> Workload:
    if not believed:
        notes, labels = without_measured(notes), without_measured(labels)
    # The siblings' traffic and affinity keys may be labels of old.
    both = keys.read_by_us(labels, notes)
    if not both:
        return Workload(key)
    at = keys.measured_at(notes)
    cpu, memory = keys.cpu_usage(both), keys.memory_usage(both)
    return Workload(
        key=key,
        app_group=labels.get(keys.APP_GROUP),
        index=keys.index(labels),
        cpu_usage=None if cpu is None else Measured(cpu, at),
        memory_usage=None if memory is None else Measured(memory, at),
        traffic=keys.traffic(both),
        affinity=keys.affinity(both),
        synchronous=keys.synchronous(notes),
        deadlines=keys.deadlines(notes),
        soft_deadlines=keys.soft_deadlines(notes),
        measured_at=at,
        external=both.get(keys.EXTERNAL, "").lower() not in ("", "false"),
        requests=keys.requests(both),
        calls=keys.calls(both),
        edge_share=keys.edge_share(both),
        target_latency_ms=keys.target_latency(both),
        redundancy=keys.redundancy(both),
    )


def merged(first: Workload, second: Workload) -> Workload:
    """Two bare pods of one workload: what the first leaves open, the second may say."""
    return replace(
        first,
        index=first.index if first.index is not None else second.index,
        cpu_usage=first.cpu_usage or second.cpu_usage,
        memory_usage=first.memory_usage or second.memory_usage,
        traffic=first.traffic if first.traffic is not None else second.traffic,
        affinity=first.affinity if first.affinity is not None else second.affinity,
        synchronous=first.synchronous or second.synchronous,
        deadlines=first.deadlines or second.deadlines,
        soft_deadlines=first.soft_deadlines or second.soft_deadlines,
        measured_at=first.measured_at if first.measured_at is not None else second.measured_at,
        external=first.external or second.external,
        requests=first.requests if first.requests is not None else second.requests,
        calls=first.calls if first.calls is not None else second.calls,
        edge_share=first.edge_share if first.edge_share is not None else second.edge_share,
        target_latency_ms=(
            first.target_latency_ms if first.target_latency_ms is not None else second.target_latency_ms
        ),
        redundancy=first.redundancy or second.redundancy,
    )


def root_owner(
    namespace: str, owner: tuple[str, str], *, owner_of: OwnerOf, template_hash: str = ""
) -> tuple[str, str]:
    """The workload above a pod's owner, as (kind, name): a ReplicaSet's or a Job's owner, else the owner itself.

    A Deployment that an operator's resource owns is a workload all the same. Owners that lead back to themselves, which
    anybody may write and nobody means, end the search; files that say so are refused before it begins.
    """
    seen = [owner]
    root: tuple[str, str] | None = None
    while True:
        here = seen[-1]
        above = owner_of(namespace, *here) or _guessed(here, template_hash)
        if root is None and (above is None or here[0] not in PASSED_THROUGH):
            root = here
        if above is None:
            return root or here
        if above in seen:
            return root or owner
        seen.append(above)


def _guessed(owner: tuple[str, str], template_hash: str) -> tuple[str, str] | None:
    """An export without ReplicaSets: a Deployment names them after itself and the template's hash."""
    kind, name = owner
    ending = f"-{template_hash}"
    if kind == "ReplicaSet" and template_hash and name.endswith(ending) and len(name) > len(ending):
        return "Deployment", name[: -len(ending)]
    return None


def owner_above(metadata: wire.Metadata) -> tuple[str, str] | None:
    owner = controller_of(metadata)
    return None if owner is None else (owner.kind, owner.name)
