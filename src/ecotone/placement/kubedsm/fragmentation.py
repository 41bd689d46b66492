"""Fragmentation of a node: how far its resources are from being used together.

Neither version of the paper defines it. `packed` is what the public code minimises, `unused` what the authors report. They
differ in the constant and in an empty node, which `packed` counts as used by a tenth: it would rather have an empty node
and a full one than two half full ones.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.placement.kubedsm.cluster import Cluster

_EMPTY = 0.1
_NOTHING = 1e-10


class Fragmentation(Protocol):
    def __call__(self, used: Floats, capacity: Floats) -> Floats:
        """Per node, over the last axis of resources; less is better."""
        ...


def _part(used: Floats, capacity: Floats) -> Floats:
    """Of CPU and memory, the first two resources: a product over more would only grow smaller."""
    return used[..., :2] / np.maximum(capacity[..., :2], _NOTHING)


def packed(used: Floats, capacity: Floats) -> Floats:
    part = _part(used, capacity)
    empty = (np.abs(part) < _NOTHING).all(axis=-1)
    return np.where(empty, -_EMPTY, -part.prod(axis=-1))


def unused(used: Floats, capacity: Floats) -> Floats:
    result: Floats = 1.0 - _part(used, capacity).prod(axis=-1)
    return result


def edge_fragmentation(cluster: Cluster, fragmentation: Fragmentation) -> float:
    """Summed over edge nodes."""
    return float(fragmentation(cluster.used[cluster.edge], cluster.capacity[cluster.edge]).sum())
