"""How satisfied a service is, given the share of its pods on the edge and the share it was promised.

Three functions, each a value to be maximised and summed over services: the reference's, the later version's and the public
code's. All take arrays, so that many placements are judged in one call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.placement.kubedsm.cluster import Cluster

EQUAL = 1e-9  # two qualities closer than this are the same


class Quality(Protocol):
    def __call__(self, share: Floats, promised: Floats) -> Floats: ...


@dataclass(frozen=True, slots=True)
class Relu:
    """The reference, section 4.2: F = -ReLU(Delta), Delta = mean latency - Q in milliseconds."""

    edge_ms: float = 50.0
    cloud_ms: float = 300.0

    def __call__(self, share: Floats, promised: Floats) -> Floats:
        return -np.maximum(0.0, (promised - share) * (self.cloud_ms - self.edge_ms))


@dataclass(frozen=True, slots=True)
class Linear:
    """The later version, equation 3; it gives no values, only 0 <= beta < alpha << gamma."""

    alpha: float = 1.0
    beta: float = 0.1
    gamma: float = 10.0

    def __call__(self, share: Floats, promised: Floats) -> Floats:
        over = share - promised
        return np.where(over < -EQUAL, self.alpha * over, self.beta * np.maximum(over, 0.0) + self.gamma)


@dataclass(frozen=True, slots=True)
class Jump:
    """The public code: 0.8 sqrt(share/promised) below the promise, 0.99 at it, up to 1 above."""

    satisfied: float = 0.99
    before: float = 0.8

    def __call__(self, share: Floats, promised: Floats) -> Floats:
        below = self.before * np.sqrt(share / np.maximum(promised, EQUAL))
        above = self.satisfied + (1.0 - self.satisfied) * (share - promised) / np.maximum(1.0 - promised, EQUAL)
        met = np.abs(share - promised) < EQUAL
        return np.where(met, self.satisfied, np.where(share > promised, above, below))


def shares(on_edge: Floats, pods: Floats) -> Floats:
    """A service without pods has kept every promise."""
    return np.where(pods > 0, on_edge / np.maximum(pods, 1), 1.0)


def quality_of(cluster: Cluster, quality: Quality, *, on_edge: Floats | None = None) -> float:
    """Summed over services; `on_edge` in place of the cluster's own counts."""
    count = cluster.on_edge.astype(np.float64) if on_edge is None else on_edge
    promised = np.array([service.share for service in cluster.services])
    return float(quality(shares(count, cluster.pods.astype(np.float64)), promised).sum())


def satisfied(cluster: Cluster) -> int:
    """Services whose promise is kept."""
    promised = np.array([service.share for service in cluster.services])
    return int((cluster.pods * promised <= cluster.on_edge + EQUAL).sum())
