"""Algorithm 5, freeEdgeAsNeeded: pods that leave the edge so that others can come, those first that lose least QoS per size."""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.placement.kubedsm.cluster import ROUNDING, Cluster, Move
from ecotone.placement.kubedsm.parameters import Parameters
from ecotone.placement.kubedsm.score import scores


def free_edge_as_needed(cluster: Cluster, need: Floats, parameters: Parameters) -> tuple[Move, ...]:
    """Moves to the cloud until the free capacity of the whole edge covers `need`, or no other pod may move."""
    freed: list[Move] = []
    now = cluster
    while (now.free[now.edge].sum(axis=0) < need - ROUNDING * now.capacity.sum(axis=0)).any():
        move = _next(now, parameters)
        if move is None:
            break
        freed.append(move)
        now = now.after([move])
    return tuple(freed)


def _next(cluster: Cluster, parameters: Parameters) -> Move | None:
    """The edge pod with the highest score; among equals the one whose leaving fragments least."""
    score = scores(cluster, parameters.quality, on_edge=cluster.on_edge.astype(np.float64), step=-1)
    best: tuple[float, float, Move] | None = None
    movable = parameters.may_move(cluster)[:, cluster.edge]
    for service in np.flatnonzero(movable.any(axis=1)).tolist():
        target = cluster.roomiest_cloud(service)
        if target is None:
            continue
        for node in cluster.edge[movable[service] > 0].tolist():
            rank = (-round(float(score[service]), 9), _loss(cluster, service, node, parameters))
            if best is None or rank < best[:2]:
                best = (*rank, Move(service, node, target))
    return None if best is None else best[2]


def _loss(cluster: Cluster, service: int, node: int, parameters: Parameters) -> float:
    used, capacity = cluster.used[node], cluster.capacity[node]
    after = parameters.fragmentation(used - cluster.size[service], capacity)
    return round(float(after - parameters.fragmentation(used, capacity)), 9)
