"""NodeResourcesFit: what the pod requests must be free; scored by how much is left (LeastAllocated and its kin).

Facts of Kubernetes 1.36: requests count as kube-scheduler counts them (`PodSpec.requests` is effective), scores use the
non-zero requests (100m, 200Mi for a container that asks for nothing) of CPU and memory, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.nodes import NodeTable
from ecotone.model.objects import Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection, pick

TOO_MANY_PODS = "Too many pods"
INSUFFICIENT = "Insufficient {}"


class NodeResourcesFit:
    name = "NodeResourcesFit"
    placement_changes: Change | None = "row"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        ok: Mask = pick(cycle.state.usage.pod_count, rows, cycle) < pick(cycle.state.nodes.max_pods, rows, cycle)
        for column, amount in _wanted(cycle, cycle.state.nodes):
            ok = ok & self._fits(cycle, rows, column, amount)
        return ok

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        nodes, usage = cycle.state.nodes, cycle.state.usage
        full = pick(usage.pod_count, rows, cycle) >= pick(nodes.max_pods, rows, cycle)
        found = [Rejection(full, TOO_MANY_PODS)]
        for column, amount in _wanted(cycle, nodes):
            short = ~self._fits(cycle, rows, column, amount)
            never = pick(nodes.allocatable[:, column], rows, cycle) < amount
            reason = INSUFFICIENT.format(nodes.resources[column])
            found += [Rejection(short & never, reason, final=True), Rejection(short & ~never, reason)]
        return found

    def _fits(self, cycle: Cycle, rows: Rows, column: int, amount: int) -> Mask:
        free = pick(cycle.state.nodes.allocatable[:, column], rows, cycle) - pick(
            cycle.state.usage.requested[:, column], rows, cycle
        )
        fits: Mask = free >= amount
        return fits

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        nodes, usage = cycle.state.nodes, cycle.state.usage
        total = np.zeros(len(rows), dtype=np.int64)
        weight = np.zeros(len(rows), dtype=np.int64)
        for column in (0, 1):
            capacity = pick(nodes.allocatable[:, column], rows, cycle)
            asked = pick(usage.nonzero[:, column], rows, cycle) + cycle.pod.spec.nonzero[column]
            some = capacity > 0
            left = np.where(some & (asked <= capacity), (capacity - asked) * 100 // np.maximum(capacity, 1), 0)
            total += left
            weight += some
        return total // np.maximum(weight, 1)

    def hint(self, event: Event, pod: Pod, reasons: Sequence[str]) -> bool:  # noqa: ARG002
        return event.resource == "node" or event.action in ("delete", "scale-down")


def _wanted(cycle: Cycle, nodes: NodeTable) -> list[tuple[int, int]]:
    wanted = []
    for resource, amount in cycle.pod.spec.requests:
        column = nodes.column(resource)
        if amount > 0 and column is not None:
            wanted.append((column, amount))
    return wanted
