"""Finding nodes that hold more than they have.

The API server does not check capacity when it binds, so a second active scheduler (the default one on the same nodes, or
a paused leader that wakes up) can over-commit a node although each of them counted correctly. That cannot be prevented
from here; it can be seen, said once per node, and counted.
"""

from __future__ import annotations

import msgspec
import numpy as np

from ecotone.model.state import ClusterState


class Overcommitment(msgspec.Struct, frozen=True):
    node: str
    resource: str
    requested: int
    allocatable: int

    def __str__(self) -> str:
        return f"node {self.node}: {self.requested} of {self.resource} requested, {self.allocatable} allocatable"


class OvercommitWatch:
    """Reports each over-committed node and resource once, and again only after it had recovered."""

    def __init__(self) -> None:
        self._reported: set[tuple[str, str]] = set()

    @property
    def current(self) -> int:
        return len({node for node, _ in self._reported})

    def check(self, state: ClusterState) -> list[Overcommitment]:
        nodes, usage = state.nodes, state.usage
        found: dict[tuple[str, str], Overcommitment] = {}
        for row, column in np.argwhere(usage.requested > nodes.allocatable):
            name, resource = nodes.names[row], nodes.resources[column]
            asked, there = int(usage.requested[row, column]), int(nodes.allocatable[row, column])
            found[name, resource] = Overcommitment(name, resource, asked, there)
        for row in np.flatnonzero(usage.pod_count > nodes.max_pods):
            name = nodes.names[row]
            found[name, "pods"] = Overcommitment(name, "pods", int(usage.pod_count[row]), int(nodes.max_pods[row]))
        fresh = [one for key, one in found.items() if key not in self._reported]
        self._reported = set(found)
        return fresh
