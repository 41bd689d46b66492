"""Claims, volumes and storage classes: where a pod's data can be reached from."""

from __future__ import annotations

from ecotone.manifests import wire
from ecotone.manifests.reading.pods import namespace_of
from ecotone.manifests.reading.requests import amount
from ecotone.manifests.reading.selectors import label_selector, node_selector
from ecotone.model.objects import Claim, StorageClass, Volume
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement

LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"
SELECTED_NODE = "volume.kubernetes.io/selected-node"


def to_claim(given: wire.PersistentVolumeClaim) -> Claim:
    meta, spec = given.metadata, given.spec
    return Claim(
        namespace=namespace_of(meta),
        name=meta.name,
        volume=spec.volume_name or None,
        storage_class=meta.annotations.get(LEGACY_CLASS, spec.storage_class_name),
        access_modes=frozenset(spec.access_modes),
        deleting=meta.deletion_timestamp is not None,
        request=amount("storage", spec.resources.requests.get("storage", 0)),
        mode=spec.volume_mode,
        selector=None if spec.selector is None else label_selector(spec.selector),
        selected_node=meta.annotations.get(SELECTED_NODE) or None,
    )


def to_volume(given: wire.PersistentVolume) -> Volume:
    spec = given.spec
    required = None if spec.node_affinity is None else node_selector(spec.node_affinity.required)
    claim = spec.claim_ref
    return Volume(
        name=given.metadata.name,
        node_affinity=NodeAffinity(required=required),
        labels=tuple(sorted(given.metadata.labels.items())),
        claim=None if claim is None else f"{claim.namespace}/{claim.name}",
        storage_class=spec.storage_class_name or None,
        driver=None if spec.csi is None else spec.csi.driver or None,
        capacity=amount("storage", spec.capacity.get("storage", 0)),
        access_modes=frozenset(spec.access_modes),
        mode=spec.volume_mode,
        available=given.status.phase == "Available" and given.metadata.deletion_timestamp is None,
    )


def to_storage_class(given: wire.StorageClass) -> StorageClass:
    """Each allowed topology is an alternative; inside one, every expression must hold."""
    topologies = tuple(
        NodeAffinity(
            required=(
                NodeTerm(
                    expressions=tuple(
                        Requirement(each.key, "In", tuple(each.values)) for each in term.match_label_expressions
                    )
                ),
            )
        )
        for term in given.allowed_topologies
    )
    return StorageClass(
        name=given.metadata.name,
        provisioner=given.provisioner,
        waits_for_consumer=given.volume_binding_mode == "WaitForFirstConsumer",
        topologies=topologies,
    )
