"""TierOrder: one tier first, the others only when it is full: the baselines of the KubeDSM evaluation.

`cloud-first` draws among the cloud nodes that fit, then among the others. `biggest-edge-first` and `smallest-edge-first` take
the edge node with the most or least left, then draw among the others. "Left" is what the baselines computed: free cores plus
free bytes, which is free memory with cores to break ties. Nodes of no tier come last.

Deviations: the originals keep one core and 1 GiB of every node unused and count the pods of one namespace alone; here a node
fits when the filters say so. Their draw is any random number, ours a hash of seed, pod and node.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints, Rows
from ecotone.model.columns.nodes import CPU, MEMORY
from ecotone.model.draw import draws
from ecotone.model.errors import InputError
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick

TIERS = ("edge", "fog", "cloud")
THEN = ("random", "first", "biggest", "smallest")


class TierOrder:
    name = "TierOrder"
    placement_changes: Change | None = "everything"

    def __init__(self, *, first: str = "edge", then: str = "random") -> None:
        if first not in TIERS or then not in THEN:
            raise InputError(
                f"TierOrder: first is {first!r} and then is {then!r}",
                hint=f"first: {', '.join(TIERS)}; then: {', '.join(THEN)}",
            )
        self.then = then
        ways = TIERS if first == "edge" else TIERS[::-1]
        self.order = (first, *(tier for tier in ways if tier != first))

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        """In the preferred tier the rule's own figure; elsewhere a draw, so that one figure never meets the other."""
        state = cycle.state
        luck = draws(seed=state.seed, uid=cycle.pod.uid, names=pick(state.nodes.hashes, rows, cycle))
        if self.then == "random":
            return luck
        own: Floats
        if self.then == "first":
            own = -pick(state.nodes.rank, rows, cycle).astype(np.float64)
        else:
            left = pick(state.nodes.allocatable, rows, cycle) - pick(state.usage.requested, rows, cycle)
            free = left[:, CPU] / 1000 + left[:, MEMORY]
            own = free if self.then == "biggest" else -free
        return np.where(self._tier(cycle, rows) == 0, own, luck)

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        """By tier, then by figure; only the order counts, equal figures stay equal."""
        rows = cycle.state.nodes.all_rows if cycle.feasible is None else cycle.feasible
        tier = self._tier(cycle, rows)
        order = np.lexsort((raw, -tier))
        steps = (np.diff(tier[order]) != 0) | (np.diff(raw[order]) != 0)
        places = np.empty(len(rows))
        places[order] = np.concatenate(([0], np.cumsum(steps)))
        return places * (100 / max(1.0, float(places.max(initial=0))))

    def _tier(self, cycle: Cycle, rows: Rows) -> Ints:
        """How late the node's tier has its turn."""
        tiers: Ints = pick(cycle.state.nodes.tier_codes(self.order), rows, cycle)
        return tiers

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        return f"{cycle.state.nodes.nodes[row].tier or 'no'} tier"
