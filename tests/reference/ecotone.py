"""Ecotone's cost in milliseconds, channel by channel and pod by pod."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ecotone.model.objects import Node, Pod
from reference.world import World, available, latency, said, usable, usage_of

Name = tuple[str, str]


@dataclass
class Talk:
    affinity: float = 0.0
    flows: list[float] | None = None
    rates: list[float] | None = None
    sync: bool | None = None
    out: bool = False
    into: bool = False
    weight: float = 0.0


def _spelt(namespace: str, peer: str) -> Name:
    if peer.startswith("users@"):
        return ("", peer)
    head, slash, tail = peer.partition("/")
    return (head, tail) if slash else (namespace, peer)


def talks(world: World, own: Name) -> dict[Name, Talk]:
    """Every channel of the workload with its weight in round trips per request."""
    found: dict[Name, Talk] = {}
    indices: dict[Name, int | None] = {}
    for workload in sorted(world.workloads, key=lambda each: each.key):
        indices.setdefault((workload.key.namespace, workload.key.name), workload.index)
    for workload in world.workloads:
        name = (workload.key.namespace, workload.key.name)
        listed = {*(workload.affinity or {}), *(workload.traffic or {}), *workload.synchronous}
        for peer in listed | set(workload.deadlines):
            other = _spelt(name[0], peer)
            if name == own and peer in listed:
                talk = found.setdefault(other, Talk())
                talk.out |= other[0] != "" and (said(workload.affinity, peer) > 0 or peer in workload.synchronous)
                talk.into |= other[0] == ""
            elif other == own and name != own and name[0] == own[0]:
                talk = found.setdefault(name, Talk())
                talk.into |= said(workload.affinity, peer) > 0 or peer in workload.synchronous
            else:
                continue
            talk.affinity += said(workload.affinity, peer)
            if peer in workload.synchronous:
                talk.sync = bool(talk.sync) or workload.synchronous[peer]
    for other, talk in found.items():
        for workload in world.workloads:
            name = (workload.key.namespace, workload.key.name)
            if not world.fresh(workload.measured_at):
                continue
            for here, there in ((own, other), (other, own)):
                if here[0] != own[0]:
                    continue
                if name == here and workload.traffic is not None:
                    flow = sum(
                        said(workload.traffic, peer) for peer in workload.traffic if _spelt(name[0], peer) == there
                    )
                    talk.flows = [*(talk.flows or []), flow]
                if name == here and workload.requests is not None:
                    counted = [
                        rate
                        for peer, rate in workload.requests.items()
                        if _spelt(name[0], peer) == there and usable(rate)
                    ]
                    if counted:
                        talk.rates = [*(talk.rates or []), sum(counted)]
        if talk.out == talk.into and other[0] != "":
            level = indices.get(own)
            other_level = indices.get(other) if other[0] == own[0] else None
            if level is not None and other_level is not None and level != other_level:
                talk.out, talk.into = level < other_level, level > other_level
            elif not talk.into:
                talk.out = True
    found = {
        name: talk
        for name, talk in found.items()
        if talk.affinity > 0 or talk.sync is not None or (talk.flows and max(talk.flows) > 0)
    }
    _weigh(found)
    return {name: talk for name, talk in found.items() if talk.weight > 0}


def _weigh(found: dict[Name, Talk]) -> None:
    flow = {name: max(talk.flows) if talk.flows is not None else None for name, talk in found.items()}
    rate = {name: max(talk.rates) if talk.rates is not None else None for name, talk in found.items()}
    both = [name for name in found if rate[name] and flow[name]]
    if both:
        bytes_each = sum(flow[name] or 0.0 for name in both) / sum(rate[name] or 0.0 for name in both)
        for name, known in flow.items():
            if known is not None:
                flow[name] = rate[name] if rate[name] is not None else known / bytes_each
    callers = [name for name, talk in found.items() if talk.into]
    incoming = sum(flow[name] or 0.0 for name in callers)
    through = incoming or max((each or 0.0 for each in flow.values()), default=0.0)
    pull = sum(found[name].affinity or 1.0 for name in callers)
    top = min(80.0, max((talk.affinity for talk in found.values()), default=0.0))
    for name, talk in found.items():
        known = flow[name]
        trips = 0.0
        if talk.into:
            trips += known / incoming if known is not None and incoming > 0 else (talk.affinity or 1.0) / pull
        if talk.out:
            trips += 1.0 if known is None or through == 0 else min(8.0, known / through)
        if talk.affinity > 0 or talk.sync is not None:
            trips = max(trips, 0.05)
        if talk.sync is not None:
            trips *= 1.0 if talk.sync else 0.2
        elif talk.affinity > 0:
            trips *= min(1.0, talk.affinity / top)
        talk.weight = trips


def places(world: World, name: Name) -> list[str]:
    if name[0] == "":
        node = world.node(name[1].removeprefix("users@"))
        return [] if node is None else [node.name]
    return [pod.node or "" for pod in world.peers() if (pod.kind.workload.namespace, pod.kind.workload.name) == name]


def network_ms(world: World, pod: Pod) -> list[float]:
    if world.largest_latency is None:
        return [0.0] * len(world.nodes)
    own = (pod.kind.workload.namespace, pod.kind.workload.name)
    anchors: list[tuple[Node, float]] = []
    for name, talk in talks(world, own).items():
        for place, weight in _anchors(world, name, talk.weight, behind=own, seen={own}, depth=3):
            other = world.node(place)
            assert other is not None
            anchors.append((other, weight))
    return [sum(weight * (latency(world, node, other) or 0.0) for other, weight in anchors) for node in world.nodes]


def _anchors(
    world: World, name: Name, weight: float, *, behind: Name, seen: set[Name], depth: int
) -> list[tuple[str, float]]:
    there = places(world, name)
    if there:
        return [(place, weight / len(there)) for place in there]
    if depth == 0 or name[0] != behind[0] or name in seen:
        return []
    links = talks(world, name)
    back = links[behind].weight if behind in links else 1.0
    found: list[tuple[str, float]] = []
    for peer, talk in links.items():
        if peer not in seen | {name}:
            thinner = weight * min(1.0, talk.weight / back)
            found += _anchors(world, peer, thinner, behind=name, seen=seen | {name}, depth=depth - 1)
    total = sum(each for _, each in found)
    if total > weight:
        found = [(place, each * weight / total) for place, each in found]
    return found


def cpu_ms(world: World, pod: Pod, node: Node, *, service_ms: float = 10.0) -> float:
    capacity = max(1.0, node.allocatable["cpu"])
    cores = capacity / 1000
    before = _used(world, node)
    after = before + max(1.0, usage_of(world, pod)[0]) / capacity
    power = math.sqrt(2 * (max(1.0, cores) + 1)) - 1
    slow = max(0.0, 1 / cores - 1)

    def wait(share: float) -> float:
        return share**power / (cores * (1 - share))

    def growth(share: float) -> float:
        return wait(share) * power / share + wait(share) / (1 - share)

    if after <= 0.95:
        return service_ms * (slow + wait(after) + before * growth(after))
    return service_ms * (slow + wait(0.95) + (after - 0.95) * growth(0.95) + before * growth(0.95))


def _used(world: World, node: Node) -> float:
    share = max(0.0, 1 - available(world, node)[0] / max(1.0, node.allocatable["cpu"]))
    return share if _measured(world, node) else max(share, _most_used(world))


def _measured(world: World, node: Node) -> bool:
    return usable(node.available_cpu) and world.fresh(node.measured_at)


def _most_used(world: World) -> float:
    known = [node for node in world.nodes if _measured(world, node)]
    return max((1 - (node.available_cpu or 0.0) / max(1.0, node.allocatable["cpu"]) for node in known), default=0.0)


def price_ms(world: World, pod: Pod, node: Node, *, unit: float = 1.0) -> float:
    takes = max(pod.spec.request("cpu"), usage_of(world, pod)[0]) / max(1.0, node.allocatable["cpu"])
    return unit * node.price_per_hour * min(1.0, takes)


def cost(world: World, pod: Pod) -> list[float]:
    away = network_ms(world, pod)
    return [
        network + cpu_ms(world, pod, node) + price_ms(world, pod, node)
        for node, network in zip(world.nodes, away, strict=True)
    ]
