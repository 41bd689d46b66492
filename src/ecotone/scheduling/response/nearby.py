"""Placements that differ from a known one in a single workload: which of them the limits allow, and what they cost.

What a search over a large application asks about most. Rows that limits refuse are left out before anything else is judged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.response.around import Around, Change
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.prediction import Prediction

_AT_ONCE = 100_000  # figures of rows that are judged together
_SLACK = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What a search starts from: `now[w, n]`; `room[n, r]`, never less than what stands there; and what is too far as yet."""

    limits: Limits
    now: Floats
    room: Floats
    away: tuple[tuple[int, int, Mask], ...]

    @property
    def replicas(self) -> Floats:
        found: Floats = self.now.sum(axis=1)
        return found


class Nearby:
    """`here[w, n]`: the known placement, which may exceed limits itself."""

    def __init__(self, prediction: Prediction, standing: Standing, here: Floats, budget: Budget) -> None:
        self.here = here
        self._around = Around(prediction, here)
        self._standing = standing
        self._budget = budget
        self._replicas = standing.replicas
        every = np.arange(len(here))
        self._free = standing.room + _SLACK - here.T @ standing.limits.demand
        self._prices, self._refused = self._price(every, here), self._refuses(every, here)
        budget.spend(here.size)

    def cost(self, workload: int, rows: Floats) -> Floats:
        """As a search's `cost` of the whole placements, for `rows[c, n]` in place of the workload's own."""
        found = np.full(len(rows), np.inf)
        others = float(np.delete(self._prices, workload).sum())
        for part in self._parts(np.flatnonzero(self._may(workload, rows))):
            change = self._change(workload, rows[part])
            found[part] = self._around.milliseconds(change) + others + self._price(workload, rows[part])
            found[part] = self._more(found[part], change, workload, rows[part])
        return found

    def milliseconds(self, workload: int, rows: Floats) -> Floats:
        """The prediction alone, whatever limits say."""
        found = [
            self._around.milliseconds(self._change(workload, rows[part])) for part in self._parts(np.arange(len(rows)))
        ]
        return np.concatenate(found) if found else np.zeros(0)

    def overfull(self, workload: int, rows: Floats) -> Mask:
        """[c, n]: the nodes without room for them."""
        demand = self._standing.limits.demand[workload]
        added = rows - self.here[workload]
        found = np.zeros(rows.shape, dtype=np.bool_)
        for resource in range(len(demand)):
            found |= added * demand[resource] > self._free[:, resource]
        return found

    def _more(self, costs: Floats, change: Change, workload: int, rows: Floats) -> Floats:
        """For those that compare by more than that."""
        del change, workload, rows
        return costs

    def _slowest(self, change: Change, workload: int, rows: Floats) -> Floats:
        return self._around.slowest(change, workload, rows)

    def _change(self, workload: int, rows: Floats) -> Change:
        self._budget.spend(len(rows) * self._around.effort(workload))
        return self._around.change(workload, rows)

    def _parts(self, chosen: Ints) -> Iterator[Ints]:
        size = max(1, _AT_ONCE // self.here.shape[1])
        yield from (chosen[at : at + size] for at in range(0, len(chosen), size))

    def _price(self, workload: int | Ints, rows: Floats) -> Floats:
        """What rows of a workload, or one of each workload, pay beside J."""
        limits = self._standing.limits
        shares = rows / np.maximum(self._replicas[workload], 1.0)[..., np.newaxis]
        found: Floats = (shares * limits.price[workload]).sum(axis=1) / len(self.here)
        found += limits.moving * self._gained(workload, rows).sum(axis=1)
        return found

    def _refuses(self, workload: int | Ints, rows: Floats) -> Mask:
        """What no other workload has to do with."""
        limits = self._standing.limits
        gained = self._gained(workload, rows) > 0.0
        found: Mask = (gained & ~limits.allowed[workload]).any(axis=1) | (rows.sum(axis=1) < 1)
        if limits.redundancy is not None:
            moved = (rows != self._standing.now[workload]).any(axis=1)
            found |= limits.redundancy.lacks(workload, rows) & moved
        return found

    def _gained(self, workload: int | Ints, rows: Floats) -> Floats:
        return np.maximum(rows - self._standing.now[workload], 0.0)

    def _may(self, workload: int, rows: Floats) -> Mask:
        if np.delete(self._refused, workload).any():
            return np.zeros(len(rows), dtype=np.bool_)
        self._budget.spend(rows.size)
        found = ~self._refuses(workload, rows)
        found &= ~self.overfull(workload, rows).any(axis=1)
        stands = self.here > 0
        for one, other, away in self._standing.away:
            if workload == one:
                found &= ~(((rows > 0) @ away) & (rows > 0 if other == one else stands[other])).any(axis=1)
            elif workload == other:
                found &= ~((stands[one] @ away) & (rows > 0)).any(axis=1)
            elif ((stands[one] @ away) & stands[other]).any():
                found[:] = False
        return found
