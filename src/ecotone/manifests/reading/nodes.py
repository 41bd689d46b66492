"""A node of the API as the model's, with whatever was measured on it by our tools or the siblings'."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ecotone.manifests import keys, wire
from ecotone.manifests.reading.requests import amounts
from ecotone.manifests.times import parse_time
from ecotone.model.errors import InputError
from ecotone.model.objects import Node
from ecotone.model.quantity import LARGEST
from ecotone.model.selectors import Taint


def to_node(given: wire.Node, *, attachable: Mapping[str, int] | None = None, believed: bool = True) -> Node:
    """`believed`: whether what was measured counts; likewise for workloads."""
    meta, status = given.metadata, given.status
    labels = meta.labels
    ready = next((each for each in status.conditions if each.type == "Ready"), None)
    node = Node(
        name=meta.name,
        allocatable=amounts(status.allocatable or status.capacity),
        labels=labels,
        taints=tuple([Taint(each.key, each.value, each.effect) for each in given.spec.taints]),
        unschedulable=given.spec.unschedulable,
        ready=ready is None or ready.status == "True",
        unready_since=_since(ready),
        tier=labels.get(keys.TIER),
        price_per_hour=(keys.number(labels[keys.PRICE]) or 0.0) if keys.PRICE in labels else 0.0,
        images={name: max(0, min(image.size_bytes, LARGEST)) for image in status.images for name in image.names},
        declared_features=frozenset(status.declared_features),
        attachable=attachable or {},
    )
    # The siblings once wrote labels where they now write annotations.
    notes = keys.read_by_us(labels, meta.annotations)
    return _measured(node, notes, meta.annotations) if notes and believed else node


def _since(ready: wire.Condition | None) -> float | None:
    """When a node that is not ready was last; what cannot be read is unknown."""
    if ready is None or ready.status == "True" or not ready.last_transition_time:
        return None
    try:
        return parse_time(ready.last_transition_time)
    except InputError:
        return None


def _measured(node: Node, notes: Mapping[str, str], annotations: Mapping[str, str]) -> Node:
    """With what its annotations tell; thousands of nodes have none, and pods wait for a scheduler that reads them all."""
    return replace(
        node,
        available_cpu=keys.available_cpu(notes),
        available_memory=keys.available_memory(notes),
        latencies=keys.latencies(notes),
        measured_at=keys.measured_at(annotations),
        coordinates=keys.coordinates(annotations),
        bandwidths=keys.bandwidths(notes),
        losses=keys.losses(notes),
    )


def attachable(given: wire.CSINode) -> dict[str, int]:
    """How many volumes of each driver the node can hold; a driver that names no limit has none."""
    return {
        driver.name: driver.allocatable.count
        for driver in given.spec.drivers or ()
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
