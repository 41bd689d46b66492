"""A small cluster as plain objects: what the straightforward references read, and what a `ClusterState` is built from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeGuard

from ecotone.model.columns.network import NetworkMap
from ecotone.model.objects import Node, Pod, Workload
from ecotone.model.state import ClusterState


@dataclass
class World:
    nodes: list[Node]
    pods: list[Pod] = field(default_factory=list)
    workloads: list[Workload] = field(default_factory=list)
    maps: list[NetworkMap] = field(default_factory=list)
    now: float = 1000.0
    max_age: float = 300.0
    seed: int = 0

    def state(self) -> ClusterState:
        state = ClusterState(now=self.now, max_age=self.max_age, seed=self.seed)
        state.set_nodes(self.nodes)
        state.set_maps(self.maps)
        for workload in self.workloads:
            state.put_workload(workload)
        for pod in self.pods:
            state.put_pod(pod)
        return state

    def running(self) -> Iterator[Pod]:
        """Bound pods on nodes that exist, which hold resources."""
        for pod in self.pods:
            if pod.node in self._by_name and pod.phase not in ("Succeeded", "Failed"):
                yield pod

    def peers(self) -> Iterator[Pod]:
        for pod in self.running():
            if not pod.deleting:
                yield pod

    @cached_property
    def _by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    def node(self, name: str) -> Node | None:
        return self._by_name.get(name)

    @cached_property
    def pods_on(self) -> dict[str, list[Pod]]:
        """The pods that hold resources, by node."""
        found: dict[str, list[Pod]] = {node.name: [] for node in self.nodes}
        for pod in self.running():
            found[pod.node or ""].append(pod)
        return found

    @cached_property
    def largest_latency(self) -> float | None:
        return largest_latency(self)

    def workload_of(self, pod: Pod) -> Workload | None:
        return next((each for each in self.workloads if each.key == pod.kind.workload), None)

    def fresh(self, at: float | None) -> bool:
        return at is None or -30 <= self.now - at <= self.max_age


def usable(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and math.isfinite(value) and value >= 0


def said(values: object, name: str) -> float:
    """A figure of an annotation; what is absent or makes no sense is 0."""
    value = values.get(name) if values else None  # type: ignore[attr-defined]
    return float(value) if usable(value) else 0.0


def latency(world: World, origin: Node, target: Node) -> float | None:
    """Round trip of one pair, source after source; None if nothing at all is known."""
    if origin.name == target.name:
        return 0.0
    pair = _pair(world, origin, target)
    return world.largest_latency if pair is None else pair


def _pair(world: World, origin: Node, target: Node) -> float | None:
    for here, there in ((origin, target), (target, origin)):
        if world.fresh(here.measured_at) and usable((here.latencies or {}).get(there.name)):
            return (here.latencies or {})[there.name]
    for each in world.maps:
        zones = origin.labels.get(each.topology_key), target.labels.get(each.topology_key)
        for a, b in (zones, zones[::-1]):
            if a is not None and b is not None and usable(each.rtt.get(a, {}).get(b)):
                return each.rtt[a][b]
    return _predicted(world, origin, target)


def _predicted(world: World, origin: Node, target: Node) -> float | None:
    if origin.coordinates is None or target.coordinates is None:
        return None
    here, there = origin.coordinates, target.coordinates
    if len(here.vector) != len(there.vector):
        return None
    numbers = (*here.vector, *there.vector, here.height, there.height)
    if not all(math.isfinite(each) for each in numbers) or here.height < 0 or there.height < 0:
        return None
    return math.dist(here.vector, there.vector) + here.height + there.height


def largest_latency(world: World) -> float | None:
    """The largest measured or mapped latency; predictions count only where nothing else is known."""
    found = [
        value
        for node in world.nodes
        if world.fresh(node.measured_at)
        for peer, value in (node.latencies or {}).items()
        if peer != node.name and usable(value)
    ]
    for each in world.maps:
        present = {node.labels[each.topology_key] for node in world.nodes if each.topology_key in node.labels}
        found += [value for a in present for b, value in each.rtt.get(a, {}).items() if b in present and usable(value)]
    if not found:
        found = [
            value
            for a in world.nodes
            for b in world.nodes
            if a.name != b.name and (value := _predicted(world, a, b)) is not None
        ]
    return max(found, default=None)


def named(pod: Pod, namespace: str, peer: str) -> bool:
    """Whether the pod belongs to the peer as a workload of this namespace writes it."""
    if "/" in peer:
        namespace, _, peer = peer.partition("/")
    return (pod.kind.workload.namespace, pod.kind.workload.name) == (namespace, peer)


def pods_of(world: World, namespace: str, peer: str) -> list[str]:
    """The node names of a peer's pods, one entry per pod; users are one pod at their node."""
    if peer.startswith("users@"):
        node = world.node(peer.removeprefix("users@"))
        return [] if node is None else [node.name]
    return [pod.node or "" for pod in world.peers() if named(pod, namespace, peer)]


def own_figures(world: World, pod: Pod) -> tuple[dict[str, float], dict[str, float]]:
    """Static affinity and fresh traffic as the pod's own workload lists them."""
    workload = world.workload_of(pod)
    if workload is None:
        return {}, {}
    affinity = {name: said(workload.affinity, name) for name in workload.affinity or {}}
    traffic = {name: said(workload.traffic, name) for name in workload.traffic or {}}
    return affinity, traffic if world.fresh(workload.measured_at) else {}


def usage_of(world: World, pod: Pod) -> tuple[float, float]:
    """CPU (millicores) and memory (bytes) a pod uses: measured, else requested."""
    workload = world.workload_of(pod)
    figures = []
    for resource, field_name in (("cpu", "cpu_usage"), ("memory", "memory_usage")):
        told = getattr(workload, field_name) if workload else None
        if told is not None and usable(told.value) and world.fresh(told.at):
            figures.append(float(told.value))
        else:
            figures.append(float(pod.spec.request(resource)))
    return figures[0], figures[1]


def available(world: World, node: Node) -> tuple[float, float]:
    """What a node has left: measured, less what came since, else allocatable minus requested."""
    there = world.pods_on[node.name]
    figures = []
    for place, (resource, told) in enumerate((("cpu", node.available_cpu), ("memory", node.available_memory))):
        if usable(told) and world.fresh(node.measured_at):
            newer = [
                pod
                for pod in there
                if node.measured_at is not None and pod.bound_at is not None and pod.bound_at > node.measured_at
            ]
            figures.append(told - sum(usage_of(world, pod)[place] for pod in newer))
        else:
            figures.append(float(node.allocatable[resource] - sum(pod.spec.request(resource) for pod in there)))
    return figures[0], figures[1]
