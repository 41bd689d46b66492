"""Promises that hold: no move breaks one, and no plan gives one up for others."""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.placement.kubedsm.cluster import Cluster, Move
from ecotone.placement.qos.from_snapshot import Targets
from ecotone.placement.qos.problem import BROKEN


def kept(wanted: Targets, placed: Ints) -> Mask:
    """Which workloads have what they were promised, with their pods placed so."""
    pods = placed.sum(axis=1)
    mean: Floats = (placed * wanted.latency).sum(axis=1) / np.maximum(pods, 1)
    found: Mask = wanted.has & (pods > 0) & (mean <= wanted.promised + BROKEN)
    return found


def keeps(wanted: Targets, cluster: Cluster, move: Move) -> bool:
    """False if the move would break a promise that holds."""
    service = move.service
    if not wanted.has[service]:
        return True
    before, after = cluster.placed, cluster.after([move]).placed
    return bool(kept(wanted, after)[service] or not kept(wanted, before)[service])
