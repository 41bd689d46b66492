"""LatencyBound: nodes too far from those the pod must reach in time are no candidates.

What must be reached in time is in `costs.deadlines`: the pod's `max-latency` and the hard deadlines of its channels. Soft
deadlines turn no node away. With `hard: false` none of the bounds does: all of them then cost what ResponseTime charges for
being late.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.deadlines import Bound, bounds, deadlines, name_of
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, pick

TOO_FAR = "node(s) were farther than {:g} ms from {}"


class LatencyBound:
    name = "LatencyBound"

    def __init__(self, *, hard: bool = True) -> None:
        self._hard = hard

    def placement_changes(self, cycle: Cycle) -> Change:
        """Bounds are to others; only a workload that is its own peer moves its own."""
        own = name_of(cycle.pod.kind)
        return "everything" if any(peer == own for peer, _, _ in deadlines(cycle.state, own)) else "nothing"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        cycle.scratch[self.name] = self._enforced(cycle)
        return None

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        near: Mask | None = None
        for bound in self._bounds(cycle):
            for target in bound.rows.tolist():
                within = pick(cycle.state.network.toward(target), rows, cycle) <= bound.most
                near = within if near is None else near & within
        return near

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        found = []
        for bound in self._bounds(cycle):
            away = np.zeros(len(rows), dtype=np.bool_)
            for target in bound.rows.tolist():
                away |= pick(cycle.state.network.toward(target), rows, cycle) > bound.most
            found.append(Rejection(away, TOO_FAR.format(bound.most, bound.peer[1]), final=True))
        return found

    def _bounds(self, cycle: Cycle) -> list[Bound]:
        if self.placement_changes(cycle) == "everything" or self.name not in cycle.scratch:
            return self._enforced(cycle)
        kept: list[Bound] = cycle.scratch[self.name]
        return kept

    def _enforced(self, cycle: Cycle) -> list[Bound]:
        return self.keeps_near(cycle.state, cycle.pod.kind)

    def keeps_near(self, state: ClusterState, kind: PodKind) -> list[Bound]:
        return [each for each in bounds(state, kind) if not each.soft] if self._hard else []

    def hint(self, event: Event, pod: Pod) -> bool:
        """Nodes, measurements and peers that move can all help."""
        return True
