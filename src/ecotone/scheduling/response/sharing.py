"""One application makes room for another: a placement of both that all of their users together are better off with.

What an application wishes for is asked as if the other one took no room. Where the two do not fit, somebody goes elsewhere,
whoever loses least for the room he gives, of either application; from there the search goes on with both of them. So a pod
that nobody waits for, or that is as well off on the next node, does not bar the place from one that somebody waits for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Search

_WISHES = 8  # places that an application wishes for, and that room is looked for at
_STEPS = 12  # workloads that go elsewhere for one wish
_NEAREST = 6  # nodes that each of them may go to, beside where it is: the nearest ones, and those that have room
_TAKEN_MS = 0.05  # what a place costs that somebody has to leave first
_FULL = 1e-6


def shared(
    application: CallGraph, prediction: Prediction, limits: Limits, *, own: Mask, budget: Budget | None = None
) -> Ints:
    """The best placement of both; the present one if nothing is better. `own`: the workloads that room is made for."""
    budget = Budget() if budget is None else budget
    search = Search(application, prediction, limits, budget)
    now = application.counts.astype(np.float64)
    mending = _Mending(application, prediction, limits, budget)
    alone = replace(limits, movable=limits.movable & own, demand=np.where(own[:, np.newaxis], limits.demand, 0.0))
    with budget.share(0.25):
        wishes = Search(application, prediction, alone, budget).wishes()[:_WISHES]
    mended = []
    for number, wish in enumerate(wishes):
        with budget.share(0.5 / (len(wishes) - number)):
            mended += mending.mended(wish)
    answers = np.stack([now, *mended])
    costs = search.cost(answers)
    best = int(np.argmin(costs))
    if not costs[best] < costs[0]:
        return application.counts
    return search.lean(search.descend(answers[best]).astype(np.float64)).astype(np.int64)


class _Mending:
    def __init__(self, application: CallGraph, prediction: Prediction, limits: Limits, budget: Budget) -> None:
        self._budget = budget
        now = application.counts.astype(np.float64)
        self._now = now
        self._demand = limits.demand
        self._allowed = limits.allowed | (now > 0)
        self._room = np.maximum(limits.free, now.T @ limits.demand)
        self._unit = np.maximum(limits.demand.max(axis=0), 1.0)
        self._movable = np.flatnonzero(limits.movable).tolist()
        self._loose = Search(application, prediction, replace(limits, free=np.full_like(limits.free, np.inf)), budget)
        self._most = float(self._loose.cost(now[np.newaxis])[0])

    def mended(self, wish: Floats) -> list[Floats]:
        """The wish with those elsewhere who exceed the room; nothing if that is no better than what is now."""
        here, cost = wish, float(self._loose.cost(wish[np.newaxis])[0])
        for _ in range(_STEPS):
            over = self._over(here[np.newaxis])[0]
            if cost >= self._most or not over.any() or self._budget.over:
                break
            others, taken = self._others(here, np.flatnonzero(over).tolist())
            relief = over.sum() - self._over(others).sum(axis=1)
            others, taken, relief = others[relief > _FULL], taken[relief > _FULL], relief[relief > _FULL]
            loss = self._loose.cost(others) + _TAKEN_MS * taken - cost
            worth = np.where(loss > 0.0, loss / relief, loss)
            if not np.isfinite(worth.min(initial=np.inf)):
                return []
            best = int(np.argmin(worth))
            here, cost = others[best], cost + float(loss[best])
        return [here] if cost < self._most and not self._over(here[np.newaxis]).any() else []

    def _over(self, counts: Floats) -> Floats:
        """[c, n]: how much more is asked for than there is, in pods of the largest kind."""
        asked = counts.transpose(0, 2, 1) @ self._demand
        found: Floats = (np.maximum(0.0, asked - self._room - _FULL) / self._unit).sum(axis=2)
        return found

    def _others(self, here: Floats, full: list[int]) -> tuple[Floats, Mask]:
        """A workload of a node that is too full on another one, near to its peers; and whether that is taken as yet."""
        found, taken = [here[np.newaxis][:0]], [np.zeros(0, dtype=np.bool_)]
        free = self._room - here.T @ self._demand + _FULL
        as_yet = np.minimum(free, self._room - self._now.T @ self._demand + _FULL)
        pull = self._loose.pull(here)
        for guest in self._movable:
            for node in full:
                leaving = here[guest, node]
                if leaving <= 0:
                    continue
                # Where there is no room either, somebody else may go in turn.
                takes = (leaving * self._demand[guest] <= free).all(axis=1)
                order = np.argsort(np.where(self._allowed[guest], pull[guest], np.inf), kind="stable")
                order = order[self._allowed[guest, order] & (order != node)]
                back = order[self._now[guest, order] > 0]
                nearest = np.unique(np.concatenate([back, order[:_NEAREST], order[takes[order]][:_NEAREST]]))
                moved = np.repeat(here[np.newaxis], len(nearest), axis=0)
                moved[:, guest, node] = 0.0
                moved[np.arange(len(nearest)), guest, nearest] += leaving
                found.append(moved)
                asked = (leaving - self._now[guest, nearest])[:, np.newaxis] * self._demand[guest]
                taken.append((asked > as_yet[nearest]).any(axis=1))
        return np.concatenate(found), np.concatenate(taken)
