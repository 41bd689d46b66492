"""The communication-aware scoring algorithm (CLOSER 2022, algorithm 1), over cluster nodes and their pods."""

from __future__ import annotations

import math

from ecotone.model.objects import Node, Pod
from reference.world import World, latency, own_figures, pods_of


def score(world: World, pod: Pod, *, alpha: float = 1.0, beta: float = 1.0, gamma: float = 1.0) -> list[float]:
    return [_score(world, pod, node, alpha, beta, gamma) for node in world.nodes]


def _score(world: World, pod: Pod, node: Node, alpha: float, beta: float, gamma: float) -> float:
    priorities, traffic = own_figures(world, pod)
    total = 0.0
    for cn in world.nodes:
        partial = 0.0
        for peer in {**priorities, **traffic}:
            here = pods_of(world, pod.namespace, peer).count(cn.name)
            for _ in range(here):
                partial += alpha * priorities.get(peer, 0.0) + beta * traffic.get(peer, 0.0)
        if partial == 0.0:
            continue
        if world.largest_latency is None:
            return math.nan
        if cn.name == node.name:
            total += gamma * partial
        else:
            away = latency(world, node, cn)
            assert away is not None
            total += partial * (1 / away if away > 0 else gamma)
    return total
