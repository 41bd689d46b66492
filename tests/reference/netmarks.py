"""NetMARKS: the traffic between the pod and the peers that are on the node."""

from __future__ import annotations

from ecotone.model.objects import Node, Pod
from reference.world import World, own_figures, pods_of


def score(world: World, pod: Pod) -> list[float]:
    return [_score(world, pod, node) for node in world.nodes]


def _score(world: World, pod: Pod, node: Node) -> float:
    _, traffic = own_figures(world, pod)
    total = 0.0
    for peer, flow in traffic.items():
        places = pods_of(world, pod.namespace, peer)
        for place in places:
            if place == node.name:
                total += flow / len(places)
    return total
