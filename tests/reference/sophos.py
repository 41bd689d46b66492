"""Sophos, line by line as the thesis prints it (algorithm 1), over pods and nodes one after the other."""

from __future__ import annotations

import math

from ecotone.model.objects import Node, Pod
from reference.world import World, available, latency, own_figures, pods_of, usage_of


def ra(world: World, pod: Pod, *, alpha: float = 0.5, beta: float = 0.5) -> list[float]:
    cpu_p, mem_p = usage_of(world, pod)
    cpu_p = cpu_p or pod.spec.request("cpu") or 100.0
    mem_p = mem_p or pod.spec.request("memory") or 200.0 * 1024 * 1024
    scores = []
    for node in world.nodes:
        cpu_n, mem_n = available(world, node)
        scores.append(alpha * (cpu_n - cpu_p) / cpu_p * 100 + beta * (mem_n - mem_p) / mem_p * 100)
    return scores


def score(
    world: World, pod: Pod, *, alpha: float = 0.5, beta: float = 0.5, gamma: float = 0.5, delta: float = 0.5
) -> list[float]:
    """Line 11: the plain weighted sum of the raw terms."""
    resources, network = ra(world, pod, alpha=alpha, beta=beta), na(world, pod, per_pod=True)
    return [gamma * ours + delta * theirs for ours, theirs in zip(resources, network, strict=True)]


def na(
    world: World,
    pod: Pod,
    *,
    static: bool = True,
    dynamic: bool = True,
    proxies: bool = True,
    per_pod: bool = False,
) -> list[float]:
    """For every node; NaN where a latency is needed and none is known at all. Lines 5 and 6 run over pods: `per_pod`."""
    saff, daff = own_figures(world, pod)
    if not proxies:
        saff, daff = ({name: value for name, value in each.items() if "@" not in name} for each in (saff, daff))
    peers: list[tuple[Node, float]] = []
    for peer in {**saff, **daff}:
        value = (saff.get(peer, 0.0) if static else 0.0) + (daff.get(peer, 0.0) if dynamic else 0.0)
        places = pods_of(world, pod.namespace, peer)
        for place in places:
            other = world.node(place)
            if value > 0 and other is not None:
                peers.append((other, value if per_pod else value / len(places)))
    return [-_cmc(world, node, peers) for node in world.nodes]


def _cmc(world: World, node: Node, peers: list[tuple[Node, float]]) -> float:
    cmc = 0.0
    for other, value in peers:
        away = latency(world, node, other)
        if away is None or world.largest_latency is None:
            return math.nan
        cmc += away * value
    return cmc


def order(pods: list[Pod]) -> list[Pod]:
    """Queue order by pairwise comparison: groups as a whole, then index, priority, arrival."""
    groups: dict[object, list[Pod]] = {}
    for pod in pods:
        group = ("group", pod.namespace, pod.kind.app_group) if pod.kind.app_group else ("pod", pod.key)
        groups.setdefault(group, []).append(pod)

    def turn(members: list[Pod]) -> tuple[float, float, str]:
        most = max(pod.spec.priority for pod in members)
        oldest = min(pod.created for pod in members if pod.spec.priority == most)
        first = members[0]
        name = first.key if first.kind.app_group is None else f"{first.namespace}/{first.kind.app_group}/"
        return (-most, oldest, name)

    ordered: list[Pod] = []
    for members in sorted(groups.values(), key=turn):
        last = 1 + max((pod.kind.index or 0 for pod in members), default=0)
        ordered += sorted(
            members,
            key=lambda pod: (
                last if pod.kind.index is None else pod.kind.index,
                -pod.spec.priority,
                pod.created,
                pod.key,
            ),
        )
    return ordered
