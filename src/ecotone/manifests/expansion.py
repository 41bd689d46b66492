"""Pods that a manifest promises but nobody has created yet.

An export of a running cluster lists the pods themselves. A file written by hand, or by `tosca compile`, has Deployments
only; to be able to say where they would run, the pods their controllers would create are added as waiting ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec

from ecotone.manifests import wire
from ecotone.manifests.decoding import Found
from ecotone.manifests.reading.pods import namespace_of
from ecotone.manifests.reading.workloads import owner_above, root_owner
from ecotone.manifests.times import show_time
from ecotone.model.errors import InputError

EXPANDED = ("Deployment", "StatefulSet", "Job")
MOST_PODS = 100_000


def missing_pods(found: list[Found], notes: list[str]) -> list[Found]:
    """For each workload without a single pod: as many as it wants, named `workload-0`, `workload-1`, ..."""
    taken = _owners(found)
    made: list[Found] = []
    makers: list[str] = []
    for each in found:
        if each.kind not in EXPANDED or not each.value.spec.template.spec.containers:
            continue
        namespace = namespace_of(each.value.metadata)
        if (namespace, each.kind, each.value.metadata.name) in taken or owner_above(each.value.metadata) is not None:
            continue
        wanted = _wanted(each)
        if wanted + len(made) > MOST_PODS:
            raise InputError(
                f"{each.kind} {namespace}/{each.value.metadata.name} wants {wanted} pods: at most {MOST_PODS} are added",
                file=each.file,
                line=each.line,
            )
        if wanted > 0:
            made += _pods(each, wanted)
            makers.append(f"{each.kind} {namespace}/{each.value.metadata.name}")
    if made:
        named = ", ".join(makers[:3]) + (f" and {len(makers) - 3} more" if len(makers) > 3 else "")
        notes.append(f"no pods in the input for {named}: {len(made)} added as waiting, as their controllers would do")
    return made


def in_file_order(found: list[Found], now: float) -> list[Found]:
    """Pods that nobody has created yet arrive now, in the order of the file, a microsecond apart."""
    arrived, moment = [], 0
    for each in found:
        if each.kind == "Pod" and each.value.metadata.creation_timestamp is None and not each.value.spec.node_name:
            moment += 1
            meta = msgspec.structs.replace(
                each.value.metadata, creation_timestamp=show_time(round(now + moment / 1e6, 6))
            )
            arrived.append(replace(each, value=msgspec.structs.replace(each.value, metadata=meta)))
        else:
            arrived.append(each)
    return arrived


def _owners(found: Iterable[Found]) -> set[tuple[str, str, str]]:
    above = {
        (namespace_of(each.value.metadata), each.kind, each.value.metadata.name): owner_above(each.value.metadata)
        for each in found
        if each.kind in ("ReplicaSet", "Job", "Deployment")
    }
    taken: set[tuple[str, str, str]] = set()
    for each in found:
        owner = owner_above(each.value.metadata) if each.kind == "Pod" else None
        if owner is not None:
            namespace = namespace_of(each.value.metadata)
            hashed = each.value.metadata.labels.get("pod-template-hash", "")
            kind, name = root_owner(namespace, owner, owner_of=lambda *key: above.get(key), template_hash=hashed)
            taken |= {(namespace, kind, name), (namespace, *owner)}
    return taken


def _wanted(each: Found) -> int:
    spec = each.value.spec
    wanted: int | None = spec.parallelism if each.kind == "Job" else spec.replicas
    return 1 if wanted is None else wanted


def _pods(each: Found, count: int) -> Iterable[Found]:
    meta = each.value.metadata
    template: wire.PodTemplate = each.value.spec.template
    for number in range(count):
        metadata = msgspec.structs.replace(
            template.metadata,
            name=f"{meta.name}-{number}",
            namespace=namespace_of(meta),
            uid="",
            creation_timestamp=meta.creation_timestamp,
            owner_references=[wire.OwnerReference(kind=each.kind, name=meta.name, controller=True)],
        )
        yield Found("Pod", wire.Pod(metadata=metadata, spec=template.spec), each.file, each.line)
