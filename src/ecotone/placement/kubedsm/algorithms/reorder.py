"""Algorithm 6, reorderEdge: at most MER moves between edge nodes that leave the least fragmentation.

Every combination of pods is tried with every choice of targets, which is what `match` would find for so few pods, all at
once in arrays. A combination counts only if its moves can be made one after the other without over-committing a node on the
way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.placement.kubedsm.cluster import ROUNDING, Cluster, Move
from ecotone.placement.kubedsm.fragmentation import Fragmentation, edge_fragmentation
from ecotone.placement.kubedsm.parameters import Parameters

_MOST = 50_000
_BETTER = 1e-9


def reorder_edge(cluster: Cluster, parameters: Parameters) -> tuple[Move, ...]:
    limit = parameters.max_reorderings
    moves = _single_moves(cluster, parameters)
    if limit <= 0 or not moves:
        return ()
    if sum(comb(len(moves) + size - 1, size) for size in range(1, limit + 1)) > _MOST:
        return _one_after_the_other(cluster, parameters)
    least = edge_fragmentation(cluster, parameters.fragmentation)
    chosen: tuple[Move, ...] = ()
    for size in range(1, limit + 1):
        combinations = np.array(list(combinations_with_replacement(range(len(moves)), size)), np.int64)
        for value, combination in _judged(cluster, moves, combinations, parameters.fragmentation, below=least):
            candidate = tuple(moves[index] for index in combination)
            if _are_there(cluster, candidate):
                ordered = in_order(cluster, candidate)
                if ordered is not None:
                    least, chosen = value, ordered
                    break
    return chosen


def in_order(cluster: Cluster, moves: Sequence[Move]) -> tuple[Move, ...] | None:
    """The moves such that each fits when its turn comes, or None if there is no such order."""
    left, ordered, now = list(moves), [], cluster
    while left:
        move = next((each for each in left if now.fits(each.service, each.target)), None)
        if move is None:
            return None
        left.remove(move)
        ordered.append(move)
        now = now.after([move])
    return tuple(ordered)


def _single_moves(cluster: Cluster, parameters: Parameters) -> list[Move]:
    movable = parameters.may_move(cluster)
    return [
        Move(service, origin, target)
        for service, origin in np.argwhere(movable > 0).tolist()
        if cluster.nodes[origin].edge
        for target in cluster.edge.tolist()
        if target != origin and cluster.allowed[service, target]
    ]


def _are_there(cluster: Cluster, moves: Sequence[Move]) -> bool:
    """True if no more pods leave a node than may."""
    leaving = [(move.service, move.origin) for move in moves]
    return all(leaving.count(pair) <= cluster.movable[pair] for pair in leaving)


def _judged(
    cluster: Cluster, moves: Sequence[Move], combinations: Ints, fragmentation: Fragmentation, *, below: float
) -> list[tuple[float, list[int]]]:
    """Combinations that fit in the end and fragment less than `below`, the best first."""
    change = np.zeros((len(moves), *cluster.used.shape))
    for index, move in enumerate(moves):
        change[index, move.origin] -= cluster.size[move.service]
        change[index, move.target] += cluster.size[move.service]
    used = (cluster.used + change[combinations].sum(axis=1))[:, cluster.edge]
    capacity = cluster.capacity[cluster.edge]
    fits = (used <= capacity * (1.0 + ROUNDING)).all(axis=(1, 2))
    value = fragmentation(used, capacity).sum(axis=1)
    good = np.flatnonzero(fits & (value < below - _BETTER))
    order = good[np.argsort(value[good], kind="stable")]
    return [(float(value[index]), combinations[index].tolist()) for index in order.tolist()]


def _one_after_the_other(cluster: Cluster, parameters: Parameters) -> tuple[Move, ...]:
    now, chosen = cluster, []
    for _ in range(parameters.max_reorderings):
        moves = _single_moves(now, parameters)
        least = edge_fragmentation(now, parameters.fragmentation)
        single = np.arange(len(moves), dtype=np.int64)[:, None]
        fitting = (
            moves[index]
            for _, (index,) in _judged(now, moves, single, parameters.fragmentation, below=least)
            if now.fits(moves[index].service, moves[index].target)
        )
        move = next(fitting, None)
        if move is None:
            break
        chosen.append(move)
        now = now.after([move])
    return tuple(chosen)
