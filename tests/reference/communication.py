"""The communication-aware scoring algorithm (CLOSER 2022, algorithm 1), over cluster nodes and their pods.

areNeighbors and the channel of two pods are symmetric: whichever end lists the channel, both have it. Where both list it
differently the larger figure counts; across namespaces only the scored pod's own side does.
"""

from __future__ import annotations

import math

from ecotone.model.objects import Node, Pod, Workload
from reference.world import World, latency, named, own_figures, said, usable


def score(world: World, pod: Pod, *, alpha: float = 1.0, beta: float = 1.0, gamma: float | None = None) -> list[float]:
    weight = default_gamma(world) if gamma is None else gamma
    return [_score(world, pod, node, alpha, beta, weight) for node in world.nodes]


def default_gamma(world: World) -> float:
    """Twice the largest 1/latency of measured or mapped pairs; of predicted ones where nothing else is known."""
    nodes = world.nodes
    found = [
        value
        for node in nodes
        if world.fresh(node.measured_at)
        for peer, value in (node.latencies or {}).items()
        if peer in {each.name for each in nodes} - {node.name} and usable(value) and value > 0
    ]
    for each in world.maps:
        present = {node.labels[each.topology_key] for node in nodes if each.topology_key in node.labels}
        found += [
            value
            for a in present
            for b, value in each.rtt.get(a, {}).items()
            if b in present and usable(value) and value > 0
        ]
    if not found:
        pairs = [latency(world, a, b) for a in nodes for b in nodes if a.name != b.name]
        found = [value for value in pairs if value is not None and value > 0]
    return 2 / min(found) if found else 1.0


def _score(world: World, pod: Pod, node: Node, alpha: float, beta: float, gamma: float) -> float:
    total = 0.0
    for cn in world.nodes:
        partial = sum(_affinity(world, pod, each, alpha, beta) for each in world.peers() if each.node == cn.name)
        partial += _users(world, pod, cn, alpha, beta)
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


def _users(world: World, pod: Pod, cn: Node, alpha: float, beta: float) -> float:
    priorities, traffic = own_figures(world, pod)
    name = f"users@{cn.name}"
    return alpha * priorities.get(name, 0.0) + beta * traffic.get(name, 0.0)


def _affinity(world: World, pod: Pod, peer: Pod, alpha: float, beta: float) -> float:
    """Of the channel between two pods' microservices; 0 if they are no neighbours."""
    key, own = peer.kind.workload, pod.kind.workload
    priorities, flows = [0.0], [0.0]
    mine, theirs = own_figures(world, pod)
    for word in {*mine, *theirs}:
        if not word.startswith("users@") and named(peer, pod.namespace, word):
            priorities.append(mine.get(word, 0.0))
            flows.append(theirs.get(word, 0.0))
    for other in world.workloads:
        if other.key != own and (other.key.namespace, other.key.name) == (key.namespace, key.name):
            priorities += [value for value, _ in _listing(world, other, pod)]
            flows += [value for _, value in _listing(world, other, pod)]
    return alpha * max(priorities) + beta * max(flows)


def _listing(world: World, other: Workload, pod: Pod) -> list[tuple[float, float]]:
    """What another workload of the pod's namespace says of it."""
    if other.key.namespace != pod.namespace:
        return []
    own = pod.kind.workload
    fresh = world.fresh(other.measured_at)
    return [
        (said(other.affinity, word), said(other.traffic, word) if fresh else 0.0)
        for word in (own.name, f"{own.namespace}/{own.name}")
    ]
