"""The cluster state of the paper: edge and cloud nodes, services, and how many pods of each run where.

A `Cluster` never changes; `after` returns the one that moves and bindings would lead to. `placed` counts the pods that a
service runs on each node, `waiting` those that exist and run nowhere yet, `fixed` those of `placed` that must stay, and
`allowed` says which nodes a service may use at all. Capacity is what these services may use: whatever else occupies a node
has been taken off before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask, Rows

ROUNDING = 1e-9  # relative to a node's capacity


@dataclass(frozen=True, slots=True)
class Service:
    """`share`: the part of its pods that is promised to the edge."""

    name: str
    size: tuple[float, ...]
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    capacity: tuple[float, ...]
    edge: bool = True


@dataclass(frozen=True, slots=True)
class Move:
    """One pod of a service from node to node, all three by index."""

    service: int
    origin: int
    target: int


@dataclass(frozen=True, slots=True)
class Binding:
    """One waiting pod of a service to a node."""

    service: int
    target: int


@dataclass(frozen=True, eq=False)
class Cluster:
    services: tuple[Service, ...]
    nodes: tuple[Node, ...]
    placed: Ints
    waiting: Ints
    fixed: Ints
    allowed: Mask
    size: Floats = field(repr=False)
    capacity: Floats = field(repr=False)

    @classmethod
    def of(
        cls,
        services: Sequence[Service],
        nodes: Sequence[Node],
        placed: Iterable[Iterable[int]] | None = None,
        *,
        waiting: Iterable[int] | None = None,
        fixed: Iterable[Iterable[int]] | None = None,
        allowed: Iterable[Iterable[bool]] | None = None,
    ) -> Cluster:
        shape = (len(services), len(nodes))
        resources = len(nodes[0].capacity) if nodes else len(services[0].size) if services else 0
        counts = np.zeros(shape, np.int64) if placed is None else np.array(placed, np.int64).reshape(shape)
        return cls(
            services=tuple(services),
            nodes=tuple(nodes),
            placed=counts,
            waiting=np.zeros(shape[0], np.int64) if waiting is None else np.array(waiting, np.int64),
            fixed=np.zeros(shape, np.int64) if fixed is None else np.array(fixed, np.int64).reshape(shape),
            allowed=np.ones(shape, np.bool_) if allowed is None else np.array(allowed, np.bool_).reshape(shape),
            size=np.array([service.size for service in services], np.float64).reshape(shape[0], resources),
            capacity=np.array([node.capacity for node in nodes], np.float64).reshape(shape[1], resources),
        )

    @cached_property
    def edge(self) -> Rows:
        return np.flatnonzero([node.edge for node in self.nodes])

    @cached_property
    def cloud(self) -> Rows:
        return np.flatnonzero([not node.edge for node in self.nodes])

    @cached_property
    def used(self) -> Floats:
        used: Floats = (self.placed.T[:, :, None] * self.size[None, :, :]).sum(axis=1)
        return used

    @cached_property
    def free(self) -> Floats:
        return self.capacity - self.used

    @cached_property
    def pods(self) -> Ints:
        """All pods of each service, waiting ones included."""
        pods: Ints = self.placed.sum(axis=1) + self.waiting
        return pods

    @cached_property
    def on_edge(self) -> Ints:
        count: Ints = self.placed[:, self.edge].sum(axis=1)
        return count

    @cached_property
    def running(self) -> Ints:
        running: Ints = self.placed.sum(axis=1)
        return running

    @cached_property
    def movable(self) -> Ints:
        count: Ints = np.maximum(self.placed - self.fixed, 0)
        return count

    def fits(self, service: int, node: int) -> bool:
        """True if one more pod of the service may run on the node now."""
        room = self.free[node] + ROUNDING * self.capacity[node]
        return bool(self.allowed[service, node] and (self.size[service] <= room).all())

    def overcommitted(self) -> bool:
        return bool((self.free < -ROUNDING * self.capacity).any())

    def after(self, steps: Iterable[Move | Binding]) -> Cluster:
        placed, waiting = self.placed.copy(), self.waiting.copy()
        for step in steps:
            if isinstance(step, Move):
                placed[step.service, step.origin] -= 1
            else:
                waiting[step.service] -= 1
            placed[step.service, step.target] += 1
        return replace(self, placed=placed, waiting=waiting)

    def roomiest_cloud(self, service: int) -> int | None:
        """The cloud node with most room, by the smallest part left, that takes one more pod."""
        best: tuple[float, int] | None = None
        for node in self.cloud.tolist():
            if self.fits(service, node):
                whole = np.maximum(self.capacity[node], ROUNDING)
                left = float(((self.free[node] - self.size[service]) / whole).min())
                if best is None or left > best[0]:
                    best = (left, node)
        return None if best is None else best[1]
