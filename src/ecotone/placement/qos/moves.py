"""From counts to moves, in an order in which every step fits.

Where pods of a service leave some nodes and arrive on others, leavers and arrivals are paired in order. Moves that wait for
each other in a circle are opened by a detour: one pod goes to a node with room first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.placement.kubedsm.cluster import Cluster, Move

Keeps = Callable[[Cluster, Move], bool]


def moves_between(before: Ints, after: Ints) -> list[Move]:
    found = []
    for service in range(len(before)):
        change = after[service] - before[service]
        leaving = np.repeat(np.arange(len(change)), np.maximum(0, -change)).tolist()
        arriving = np.repeat(np.arange(len(change)), np.maximum(0, change)).tolist()
        found += [Move(service, origin, target) for origin, target in zip(leaving, arriving, strict=False)]
    return found


def ordered(cluster: Cluster, moves: list[Move], keeps: Keeps = lambda _, __: True) -> list[Move]:
    """All moves, each fitting in its turn, with detours where needed; ends early where no detour fits either.

    None is made that breaks a promise which holds in its turn (`keeps`).
    """
    left, done, now = list(moves), [], cluster
    while left:
        move = next((each for each in left if now.fits(each.service, each.target) and keeps(now, each)), None)
        if move is not None:
            left.remove(move)
        else:
            detour = _detour(now, left, keeps)
            if detour is None:
                break
            stuck, move = detour
            left[left.index(stuck)] = Move(stuck.service, move.target, stuck.target)
        done.append(move)
        now = now.after([move])
    return done


def _detour(cluster: Cluster, left: list[Move], keeps: Keeps) -> tuple[Move, Move] | None:
    for stuck in left:
        aside = cluster.roomiest_cloud(stuck.service)
        if aside is not None and aside not in (stuck.origin, stuck.target):
            way = Move(stuck.service, stuck.origin, aside)
            if keeps(cluster, way):
                return stuck, way
    return None
