"""What a workload should survive: how many nodes, and how many zones, its replicas should stand on.

Two nodes as soon as there are two replicas. As many zones as its topology spread constraints ask for, hard or soft; without
any, two of the zones that are within `NEAR_MS` of each other, where a second one costs next to nothing. And never fewer nodes
or zones than its replicas stand on already. The owner may say otherwise: annotation `ecotone.dev/redundancy` `none` asks for
nothing, `node` for two nodes, `zone` for two zones as well, however far apart.

What is impossible nobody can keep, so whoever asks caps these figures by the nodes that could take a replica.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ecotone.model.arrays import Mask
from ecotone.model.objects import PodKind
from ecotone.model.state import ClusterState

ZONE = "topology.kubernetes.io/zone"
NEAR_MS = 10.0
NONE, NODE, IN_ZONES = "none", "node", "zone"
_NO_REPLICAS = ("DaemonSet", "Job", "CronJob")  # a pod on every node, and pods that come to an end


class Want(msgspec.Struct, frozen=True):
    """`zones` in any case; `near`: a second one if one is near; `kept`: never fewer of either than there are."""

    nodes: int = 1
    zones: int = 1
    near: bool = False
    kept: bool = False


_NOTHING = Want()


def want_of(state: ClusterState, kind: PodKind, replicas: int) -> Want:
    """For so many replicas of the workload that pods of this kind belong to."""
    workload = state.workloads.get(kind.workload)
    declared = None if workload is None else workload.redundancy
    if kind.workload.kind in _NO_REPLICAS or declared == NONE:
        return _NOTHING
    several = max(1, min(replicas, 2))
    if declared == NODE:
        return Want(several)
    asked = _zones_asked(kind, replicas)
    if declared == IN_ZONES:
        return Want(several, max(several, asked or 1))
    if asked is not None:
        return Want(several, asked, kept=True)
    return Want(several, near=several > 1, kept=True)


def _zones_asked(kind: PodKind, replicas: int) -> int | None:
    """The fewest zones that keep the skew of its spread constraints, if there are enough zones; None without any."""
    labels = dict(kind.labels)
    found = [
        -(-replicas // max(1, each.max_skew))
        for each in kind.spec.spread
        if each.topology_key == ZONE and each.selector.matches(labels)
    ]
    return max(1, *found) if found else None


def near_zones(state: ClusterState, zone: int) -> Mask:
    """Of all zones, by the codes of their label: those within reach of this one, without itself.

    The distance of a zone is the mean over its nodes, as far as known, to the first node of this one. A zone of which no
    distance is known is not near.
    """
    codes, names = state.nodes.labels(ZONE)
    rows = np.flatnonzero(codes == zone)
    first = int(rows[np.argmin(state.nodes.rank[rows])])
    known = (codes >= 0) & ~state.network.unknown_toward(first)
    counts = np.bincount(codes[known], minlength=len(names))
    sums = np.bincount(codes[known], weights=state.network.toward(first)[known], minlength=len(names))
    found: Mask = (counts > 0) & (sums <= NEAR_MS * counts)
    found[zone] = False
    return found
