"""A policy with an obvious cost, for tests of what surrounds it: each node's label `cost` is what a pod costs there."""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.objects import Node, Pod, PodKind, PodSpec, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import Objective, Profile, Use
from ecotone.scheduling.plugin import Cycle


class Priced:
    name = "Priced"
    placement_changes = "nothing"
    cost_unit = "ms"

    def cost(self, cycle: Cycle, rows: Rows) -> Floats:
        codes, values = cycle.state.nodes.labels("cost")
        return np.array([float(values[code]) for code in codes[rows]])

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        return -self.cost(cycle, rows)


PROFILE = Profile(
    "priced",
    enabled=(Use("PrioritySort"), Use("NodeResourcesFit")),
    points={"score": (Use(f"{__file__}:Priced"),)},
    disabled={"score": frozenset("*")},
    objective=Objective(unit="ms"),
)


def cluster(**costs: float) -> ClusterState:
    """Nodes of two cores each, named and priced."""
    state = ClusterState(now=1000.0)
    state.set_nodes(
        Node(name, {"cpu": 2000, "memory": 1 << 30, "pods": 10}, labels={"cost": str(cost)})
        for name, cost in costs.items()
    )
    return state


def running(name: str, node: str, *, app: str = "web", cpu: int = 100, **fields: object) -> Pod:
    spec = PodSpec(requests=(("cpu", cpu),), nonzero=(cpu, 0))
    kind = PodKind("default", WorkloadKey("default", app), labels=(("app", app),), spec=spec)
    given: dict[str, object] = {"phase": "Running", "ready": True, "owner": "rs", "node": node} | fields
    return Pod(name, f"uid-{name}", kind, **given)  # type: ignore[arg-type]
