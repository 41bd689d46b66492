"""NAS: three ratios per peer pod, regardless of traffic."""

from __future__ import annotations

from ecotone.model.objects import Node, Pod
from reference.world import World, latency, own_figures, pods_of, usable


def score(world: World, pod: Pod) -> list[float]:
    return [_score(world, pod, node) for node in world.nodes]


def _score(world: World, pod: Pod, node: Node) -> float:
    _, traffic = own_figures(world, pod)
    places = [place for peer, flow in traffic.items() if flow > 0 for place in pods_of(world, pod.namespace, peer)]
    targets = {place: other for place in places if (other := world.node(place)) is not None}

    def measured(origin: Node, target: Node, field: str) -> float | None:
        for here, there in ((origin, target), (target, origin)):
            value = (getattr(here, field) or {}).get(there.name)
            if world.fresh(here.measured_at) and usable(value):
                return float(value)
        return None

    pairs = [(here, there) for here in world.nodes for there in targets.values() if here.name != there.name]
    most = {
        "latency": max((latency(world, *pair) or 0.0 for pair in pairs), default=0.0),
        "bandwidths": max((measured(*pair, "bandwidths") or 0.0 for pair in pairs), default=0.0),
        "losses": max((measured(*pair, "losses") or 0.0 for pair in pairs), default=0.0),
    }
    cost = 0.0
    for place in places:
        other = targets[place]
        if other.name == node.name:
            continue
        if most["latency"] > 0:
            cost += min(1.0, (latency(world, node, other) or 0.0) / most["latency"])
        if most["bandwidths"] > 0:
            cost += 1 - min(1.0, (measured(node, other, "bandwidths") or 0.0) / most["bandwidths"])
        if most["losses"] > 0:
            loss = measured(node, other, "losses")
            cost += 1.0 if loss is None else min(1.0, loss / most["losses"])
    return -cost
