"""Coarse answers judged: for every target of `passes` the best prefix of the way there, and what fits there of the whole.

Some at a time, and no more of them kept than a search may go on from; in a large application the nearest targets first, as
long as the budget lasts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.passes import Passes

AT_ONCE = 1_000_000  # figures of placements that are judged together
_KEPT = 4_000_000  # figures of answers that are kept
_LEAST = 8  # answers that are kept in any case

Start = tuple[float, Floats]
Judge = Callable[[Floats], Floats]
Numbered = dict[tuple[int, int], Floats]
Judged = dict[tuple[int, int], Start]


class Coarse:
    """`cost` and `network` judge placements [c, w, n]; `spilled`: also with what has no room on the next node."""

    def __init__(
        self, passes: Passes, budget: Budget, *, cost: Judge, network: Judge, size: int, large: bool, spilled: bool
    ) -> None:
        self._passes = passes
        self._budget = budget
        self._cost = cost
        self._network = network
        self._size = size
        self._large = large
        self._spilled = spilled

    def answers(self) -> tuple[list[Start], list[Start]]:
        """The prefixes and the wholes, each with what it costs, in the order of their targets."""
        passes = self._passes
        grown: dict[int, Start] = {}
        whole: Numbered = {}
        thinned: Judged = {}
        for number in passes.nearest_first() if self._large else range(passes.size):
            if self._budget.over:
                break
            self._budget.spend(passes.effort)
            target = passes.target(number)
            best = self._best_prefix(target)
            if best is not None:
                grown[number] = best
            whole[number, 0] = passes.thinned(target)
            if self._spilled:
                whole[number, 1] = passes.spilled(target)
            if len(whole) * self._size > AT_ONCE:
                thinned = self._promising(thinned | self._judged(whole))
                whole = {}
        thinned |= self._judged(whole)
        return [grown[number] for number in sorted(grown)], [thinned[number] for number in sorted(thinned)]

    def _best_prefix(self, target: Floats) -> Start | None:
        """The best one of the placements on the way to a target, the first of equals."""
        best: Start | None = None
        for prefixes in self._passes.prefixes(target, at_once=max(1, AT_ONCE // self._size)):
            costs = self._cost(prefixes)
            least = int(np.argmin(costs))
            if costs[least] < (np.inf if best is None else best[0]):
                best = float(costs[least]), prefixes[least].copy()
        return best

    def _judged(self, whole: Numbered) -> Judged:
        if not whole:
            return {}
        costs = self._cost(np.stack(list(whole.values()))).tolist()
        return {
            number: (cost, table)
            for cost, (number, table) in zip(costs, whole.items(), strict=True)
            if np.isfinite(cost)
        }

    def _promising(self, thinned: Judged) -> Judged:
        """As many of them as may be kept, those with the shortest ways: of these a search goes on from a few."""
        most = max(_LEAST, _KEPT // self._size)
        if len(thinned) <= most:
            return thinned
        numbers = list(thinned)
        ways = self._network(np.stack([table for _, table in thinned.values()]))
        return {numbers[place]: thinned[numbers[place]] for place in np.argsort(ways, kind="stable")[:most].tolist()}
