"""PodsPerNode: how many copies of the pod a node could still take, the heart of the heuristic.

Queues prefer the node that could take the most (spread), microservices the one that could take the fewest (fill).
The figure is beta + 1 of the paper, over every resource the pod requests. As in the prototype a microservice scores
100 / copies, rounded half up, scores are scaled to the best one and rounded up, and cloud nodes score nothing while an
edge node is eligible.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints, Rows
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick
from ecotone.scheduling.plugins.pogonip.application import cloud_rows
from ecotone.scheduling.plugins.pogonip.service_graph import membership


class PodsPerNode:
    name = "PodsPerNode"
    placement_changes: Change | None = "everything"

    def prescore(self, cycle: Cycle) -> None:
        cloud = cloud_rows(cycle.state.nodes)
        assert cycle.feasible is not None
        cycle.scratch[self.name] = bool((~cloud[cycle.feasible]).any())

    def score(self, cycle: Cycle, rows: Rows) -> Floats | None:
        member = membership(cycle)
        if member is None:
            return None
        copies = self._copies(cycle, rows).astype(np.float64)
        if member.queue is not None:
            copies = np.floor(100.0 / np.maximum(copies, 1.0) + 0.5)
        if cycle.scratch.get(self.name):
            copies = np.where(pick(cloud_rows(cycle.state.nodes), rows, cycle), 0.0, copies)
        return copies

    def normalize(self, cycle: Cycle, raw: Scores) -> Floats:
        values = np.asarray(raw, dtype=np.float64)
        top = float(values.max(initial=0.0))
        return values if top <= 0 else np.ceil(values * 100.0 / top - 1e-9)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        copies = int(self._copies(cycle, np.array([row]))[0])
        return f"room for {copies} of its kind"

    @staticmethod
    def _copies(cycle: Cycle, rows: Rows) -> Ints:
        nodes, usage = cycle.state.nodes, cycle.state.usage
        least: Ints = np.full(len(rows), 10**6, dtype=np.int64)
        for resource, amount in cycle.pod.spec.requests:
            column = nodes.column(resource)
            if amount > 0 and column is not None:
                free = nodes.allocatable[rows, column] - usage.requested[rows, column]
                least = np.minimum(least, free // amount)
        return np.maximum(least, 0)
