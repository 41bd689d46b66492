"""Algorithm 2, suggest: pods of the cloud that would be better off on the edge, and what has to move for them.

The answer is an ordered list of moves, offloads first, then reorderings, then the pods that come from the cloud; each fits
when its turn comes. It is empty unless QoS rises, so suggestions on a cluster that nothing else changes come to an end.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.placement.kubedsm.algorithms.decision import make_decision
from ecotone.placement.kubedsm.cluster import ROUNDING, Cluster, Move
from ecotone.placement.kubedsm.parameters import Parameters
from ecotone.placement.kubedsm.quality import EQUAL
from ecotone.placement.kubedsm.score import scores


def suggest(cluster: Cluster, parameters: Parameters) -> tuple[Move, ...]:
    chosen = choose(cluster, parameters)
    if not chosen.any():
        return ()
    decision = make_decision(cluster, chosen, migrate=True, parameters=parameters)
    if decision.after <= decision.before + EQUAL:
        return ()
    now = cluster.after(decision.migrations.all)
    arrivals: list[Move] = []
    for binding in decision.to_edge:
        movable = now.movable[binding.service, now.cloud]
        origin = int(now.cloud[int(np.argmax(movable))])
        arrivals.append(Move(binding.service, origin, binding.target))
        now = now.after(arrivals[-1:])
    return (*decision.migrations.all, *arrivals)


def choose(cluster: Cluster, parameters: Parameters) -> Ints:
    """Lines 2 to 14: the cloud pods with the highest score, as counts per service."""
    chosen = np.zeros(len(cluster.services), np.int64)
    available = _candidates(cluster, parameters)
    while int(chosen.sum()) < parameters.max_cloud_to_edge:
        score = scores(cluster, parameters.quality, on_edge=(cluster.on_edge + chosen).astype(np.float64), step=+1)
        score = np.where(chosen < available, score, -np.inf)
        best = int(np.argmax(score)) if len(score) else 0
        if not len(score) or score[best] <= EQUAL:
            break
        chosen[best] += 1
    return chosen


def _candidates(cluster: Cluster, parameters: Parameters) -> Ints:
    """Cloud pods of each service that may move and could run on some edge node."""
    room = cluster.capacity[cluster.edge] * (1.0 + ROUNDING)
    could = (cluster.size[:, None, :] <= room[None, :, :]).all(axis=2) & cluster.allowed[:, cluster.edge]
    there: Ints = parameters.may_move(cluster)[:, cluster.cloud].sum(axis=1)
    return np.where(could.any(axis=1), there, 0)
