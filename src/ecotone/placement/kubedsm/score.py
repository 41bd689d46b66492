"""Equations 1 to 3: what QoS gains or loses per unit of edge resources when one pod changes sides."""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.placement.kubedsm.cluster import Cluster
from ecotone.placement.kubedsm.quality import Quality, shares

_LEAST = 1e-9  # a pod that asks for nothing still has a size


def sizes(cluster: Cluster) -> Floats:
    """Equation 2, per service, over the first two resources (CPU and memory)."""
    largest = cluster.capacity[cluster.edge].max(axis=0) if len(cluster.edge) else cluster.capacity.max(axis=0)
    part = cluster.size[:, :2] / np.maximum(largest[:2], _LEAST)
    mean: Floats = np.sqrt(part.prod(axis=1))
    return np.maximum(mean, _LEAST)


def scores(cluster: Cluster, quality: Quality, *, on_edge: Floats, step: int) -> Floats:
    """Per service: `step` +1 is a pod to the edge (equation 1), -1 a pod to the cloud (equation 3)."""
    pods = cluster.pods.astype(np.float64)
    promised = np.array([service.share for service in cluster.services])
    there = quality(shares(np.clip(on_edge + step, 0.0, pods), pods), promised)
    here = quality(shares(on_edge, pods), promised)
    return (there - here) / sizes(cluster)
