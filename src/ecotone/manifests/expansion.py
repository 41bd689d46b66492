"""Pods that a manifest promises but nobody has created yet.

An export of a running cluster lists the pods themselves. A file written by hand, or by `tosca compile`, has Deployments
only; to be able to say where they would run, the pods their controllers would create are added as waiting ones.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ecotone.manifests import wire
from ecotone.manifests.decoding import Found
from ecotone.manifests.pods import namespace_of
from ecotone.manifests.workloads import owner_above, root_owner

EXPANDED = ("Deployment", "StatefulSet", "Job")
MOST_PODS = 100_000


def missing_pods(found: list[Found], notes: list[str]) -> list[Found]:
    """For each workload without a single pod: as many as it wants, named `workload-0`, `workload-1`, ..."""
    taken = _owners(found)
    made: list[Found] = []
    for each in found:
        if each.kind not in EXPANDED or not each.value.spec.template.spec.containers:
            continue
        namespace = namespace_of(each.value.metadata)
        if (namespace, each.kind, each.value.metadata.name) in taken or owner_above(each.value.metadata) is not None:
            continue
        pods = list(_pods(each))[: MOST_PODS - len(made)]
        if pods:
            made += pods
            notes.append(
                f"{each.kind} {namespace}/{each.value.metadata.name} has no pods in the input: "
                f"{len(pods)} added as waiting, as its controller would"
            )
    return made


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


def _pods(each: Found) -> Iterable[Found]:
    meta, spec = each.value.metadata, each.value.spec
    wanted = spec.parallelism if each.kind == "Job" else spec.replicas
    template: wire.PodTemplate = spec.template
    for number in range(1 if wanted is None else wanted):
        metadata = msgspec.structs.replace(
            template.metadata,
            name=f"{meta.name}-{number}",
            namespace=namespace_of(meta),
            uid="",
            creation_timestamp=meta.creation_timestamp,
            owner_references=[wire.OwnerReference(kind=each.kind, name=meta.name, controller=True)],
        )
        yield Found("Pod", wire.Pod(metadata=metadata, spec=template.spec), each.file, each.line)
