"""The search for a better placement of one application, on counts.

Coarse answers first (`passes`): the whole application, or as much of it as fits, at one node or at its users' sites. Then,
from the best of them, single replicas and single workloads move as long as that helps; then two that talk move together,
two nodes exchange what they hold, parts that have nothing to do with each other move one by one, and at last pairs swap
where one stands in the other's way. A coarse answer that the network alone would make better than everything known is gone
on from too, whatever it costs as it stands: a node too busy for all is mended by the fine moves, a way too long is not.

Of answers that are nearly as fast the one counts that is fairest: with users at two sites, everything beside one of them may
be a little faster on average than half-way between, and is far slower for the other half. Else of those that are hardly
slower the one whose slowest requests wait least: a node that many share may save all requests a way and let them wait as
long instead, but a way takes everybody the same time, and a queue takes a few the time of all.

Placements that exceed capacity or that the filters refuse cost infinitely much. What is compared is J plus prices: of
nodes, of owners' preferences, and a little for every pod that moves. Redundancy has no price: a workload that moves
ends on as many nodes and in as many zones as it should, or stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.response.around import Change, can_tell
from ecotone.scheduling.response.budget import Budget
from ecotone.scheduling.response.call_graph import CallGraph, joined
from ecotone.scheduling.response.candidates import away, couples, exchanges, with_rows
from ecotone.scheduling.response.coarse import AT_ONCE, Coarse
from ecotone.scheduling.response.constraints import Limits
from ecotone.scheduling.response.nearby import Nearby, Standing
from ecotone.scheduling.response.passes import Passes
from ecotone.scheduling.response.prediction import Prediction

_ROUNDS = 40
_BLOCKED = 4  # places per workload where somebody may stand in the way
_GAIN = 1e-6
_STARTS = 4  # of each kind of coarse answer: the best one is not always the best in the end
_SMALL, _LARGE = 200, 600  # workloads times nodes: up to it couples and exchanges; beyond it half as many starts
_NEARLY = 0.1  # of a request's time: what a plan has to save, and what the farthest users may be spared for
_HARDLY = 0.05  # of it: what all requests may take longer so that the slowest ones are faster by more
_NEAREST = 16  # nodes that single moves of a workload are tried on, beside those in use
_SLACK = 1e-6  # of what is free
_AT_ONCE = 100_000  # figures of placements that are judged together
_LOOK_ROUND = 0.4  # of the budget: what coarse answers may take


class Search:
    """`budget`: how much may be looked at; afterwards it tells whether it was reached (`cut`)."""

    def __init__(
        self, application: CallGraph, prediction: Prediction, limits: Limits, budget: Budget | None = None
    ) -> None:
        self._budget = Budget() if budget is None else budget
        self._application = application
        self._prediction = prediction
        self._limits = limits
        self._now = application.counts.astype(np.float64)
        self._replicas = self._now.sum(axis=1)
        self._room = np.maximum(limits.free, self._used(self._now[np.newaxis])[0])
        self._several = self._replicas > 1
        self._movable = np.flatnonzero(limits.movable)
        # The work itself, wherever it is done.
        self._work = float(application.use[application.awaited].sum()) / application.rate
        # What is too far already keeps nobody from moving.
        stands = self._now > 0
        self._near = [
            (each.workload, each.peer, each.away & ~np.outer(stands[each.workload], stands[each.peer]))
            for each in limits.near
        ]
        self._standing = Standing(limits, self._now, self._room, tuple(self._near))
        workloads, nodes = self._now.shape
        self._together = _AT_ONCE // max(1, 2 * nodes * workloads * nodes)  # workloads whose moves are judged at once
        self._one_by_one = (self._together < 2 or self._now.size > _LARGE) and can_tell(application)
        self._known: Nearby | None = None
        self._parts = self._apart()
        self._passes = Passes(
            application, demand=limits.demand, room=self._room, allowed=limits.allowed, movable=self._movable,
            redundancy=limits.redundancy,
        )  # fmt: skip

    def _apart(self) -> list[Ints]:
        """The parts of an application that consists of several, as far as they move as more than single workloads."""
        parts = joined(len(self._now), [(call.caller, call.callee) for call in self._application.calls])
        movable = self._limits.movable
        several = [np.array([each for each in part if movable[each]], dtype=np.intp) for part in parts]
        return [part for part in several if len(part) > 1] if len(parts) > 1 else []

    def best(self) -> Ints:
        """The best placement found; the present one if nothing is better."""
        with self._budget.share(_LOOK_ROUND):
            grown, thinned = self._coarse().answers()
        known = [(self.alone_cost(self._now), self._now), *grown]
        known.sort(key=lambda each: each[0])  # equal ones stay in the order of nodes, the present place first
        most = _STARTS if self._now.size <= _LARGE else _STARTS // 2
        starts = known[:most]
        if thinned:
            network = self._prediction.network(np.stack([placement for _, placement in thinned]))
            promising = np.flatnonzero(network < known[0][0] - _GAIN).tolist()
            starts += [thinned[number] for number in sorted(promising, key=lambda each: float(network[each]))[:most]]
        different = list({placement.tobytes(): (cost, placement) for cost, placement in reversed(starts)}.values())
        ends = []
        for number, (cost, start) in enumerate(reversed(different)):
            with self._budget.share(1.0 / (len(different) + 1 - number)):
                ends.append(self._descend(start, cost))
        return self._fairest(np.stack([*ends, *(start for _, start in starts)])).astype(np.int64)

    def lean(self, target: Floats) -> Floats:
        """The same without workloads whose move saves requests less than moving them costs, whatever else it saves.

        A cheaper node is no reason to take the room of others in a plan that is made for milliseconds.
        """
        while self._limits.lean and not self._budget.over:
            moved = [each for each in self._movable.tolist() if (target[each] != self._now[each]).any()]
            if not moved:
                break
            without = [(each, self._now[each][np.newaxis]) for each in moved]
            cost = np.concatenate([self._costs(target, *each) for each in without])
            milliseconds = np.concatenate([self._milliseconds(target, *each) for each in without])
            saved = milliseconds - self._prediction.cost(target[np.newaxis])
            spent = self._limits.moving * np.maximum(target - self._now, 0.0)[moved].sum(axis=1)
            worth = np.where(np.isfinite(cost), saved - spent, np.inf)
            if worth.min() >= 0.0:
                break
            target = target.copy()
            target[moved[int(np.argmin(worth))]] = self._now[moved[int(np.argmin(worth))]]
        return target

    def _fairest(self, ends: Floats) -> Floats:
        """The best of them; or one nearly as fast that leaves nobody as far away as the best one does."""
        costs, times = self.cost(ends), self._prediction.cost(ends) + self._work
        best = int(np.argmin(costs))
        farthest = times + self._prediction.uneven(ends)
        near = costs <= costs[best] + _NEARLY * times[best]
        fair = int(np.argmin(np.where(near, farthest, np.inf)))
        return ends[fair] if farthest[fair] < (1 - _NEARLY) * farthest[best] else self._calmest(ends[best])

    def _calmest(self, best: Floats) -> Floats:
        """This one; or one hardly slower where the slowest requests are faster by as much as a plan has to save."""
        waits = float(self._prediction.unsteady(best[np.newaxis])[0])
        if waits > _NEARLY * (self.alone_cost(best) + self._work):
            calm = _Calm(self._application, self._prediction, self._limits, self._budget, most=self._as_good(best))
            found = calm.descend(best).astype(np.float64)
            before, after = (calm.alone_cost(each) + self._work for each in (best, found))
            if after < (1 - _NEARLY) * before:
                return found
        return self.lean(best)

    def _as_good(self, best: Floats) -> float:
        """Up to which cost a placement is as good as the best one on average, and worth the move where that one is."""
        least = self.alone_cost(best)
        most = least + _HARDLY * (float(self._prediction.cost(best[np.newaxis])[0]) + self._work)
        worth = (1 - _NEARLY) * self.alone_cost(self._now)
        return min(most, worth) if least <= worth else most

    def descend(self, start: Floats) -> Ints:
        """The nearest placement that no single move or swap betters."""
        return self._descend(start, self.alone_cost(start)).astype(np.int64)

    def wishes(self) -> list[Floats]:
        """The coarse answers that are better than what is, the best first, each once."""
        grown, thinned = self._coarse().answers()
        least = self.alone_cost(self._now) - _GAIN
        ranked = sorted((each for each in (*grown, *thinned) if each[0] < least), key=lambda each: each[0])
        return list({placement.tobytes(): placement for _, placement in ranked}.values())

    def optima(self, start: Floats) -> list[Ints]:
        """What a descent from here ends in, and from every coarse answer: many answers instead of one."""
        found = [self._descend(start, self.alone_cost(start))]
        for cost, placement in (each for kind in self._coarse().answers() for each in kind):
            found += [placement, self._descend(placement, cost)]
        return [each.astype(np.int64) for each in found]

    def pull(self, here: Floats) -> Floats:
        """[w, n]: how far each workload's calls would go with it on each node and the others as here."""
        return self._passes.pull(here)

    def _costs(self, here: Floats, workload: int, rows: Floats) -> Floats:
        """The cost of placements that differ from this one in a workload: `rows[c, n]`."""
        if self._one_by_one:
            return self._nearby(here).cost(workload, rows)
        return self._by_parts(self.cost, here, workload, rows)

    def _milliseconds(self, here: Floats, workload: int, rows: Floats) -> Floats:
        """The same of J alone."""
        if self._one_by_one:
            return self._nearby(here).milliseconds(workload, rows)
        self._budget.spend(len(rows) * here.size)
        return self._by_parts(self._prediction.cost, here, workload, rows)

    def _by_parts(self, judge: Callable[[Floats], Floats], here: Floats, workload: int, rows: Floats) -> Floats:
        size = max(1, AT_ONCE // here.size)
        parts = [rows[at : at + size] for at in range(0, len(rows), size)]
        return np.concatenate([judge(with_rows(here, workload, part)) for part in parts]) if parts else np.zeros(0)

    def _nearby(self, here: Floats) -> Nearby:
        if self._known is None or self._known.here is not here:
            self._known = self._around(here)
        return self._known

    def _around(self, here: Floats) -> Nearby:
        return Nearby(self._prediction, self._standing, here, self._budget)

    def single_moves(self, here: Floats, workload: int) -> Floats:
        """The placements that differ in one replica of the workload, or have all of them on one node; first the one given."""
        if not self._limits.movable[workload]:
            return here[np.newaxis]
        return np.concatenate([here[np.newaxis], self._alone(here, workload, np.arange(here.shape[1]))])

    def cost(self, counts: Floats) -> Floats:
        """J and the prices beside it, infinite where limits are broken."""
        limits = self._limits
        self._budget.spend(counts.size)
        found = self._prediction.cost(counts)
        shares = counts / np.maximum(self._replicas, 1.0)[:, np.newaxis]
        found += (shares * limits.price).sum(axis=(1, 2)) / max(len(shares[0]), 1)
        gained = np.maximum(counts - self._now, 0.0)
        found += limits.moving * gained.sum(axis=(1, 2))
        if limits.redundancy is not None:
            moved = (counts != self._now).any(axis=2)
            found[(limits.redundancy.lacking(counts) & moved).any(axis=1)] = np.inf
        found[((gained > 0) & ~limits.allowed).any(axis=(1, 2))] = np.inf
        found[self._overfull(counts)] = np.inf
        for workload, peer, too_far in self._near:
            here, there = counts[:, workload] > 0, counts[:, peer] > 0
            found[((here @ too_far) & there).any(axis=1)] = np.inf
        return found

    def alone_cost(self, placement: Floats) -> float:
        """The same of one placement."""
        return float(self.cost(placement[np.newaxis])[0])

    def _used(self, counts: Floats) -> Floats:
        """[c, n, r]: what the application's pods ask for on each node."""
        found: Floats = counts.transpose(0, 2, 1) @ self._limits.demand
        return found

    def _overfull(self, counts: Floats) -> Mask:
        found: Mask = (self._used(counts) > self._room + _SLACK).any(axis=(1, 2))
        return found

    def _coarse(self) -> Coarse:
        return Coarse(
            self._passes, self._budget, cost=self.cost, network=self._prediction.network, size=self._now.size,
            large=self._now.size > _LARGE, spilled=bool(self._near),
        )  # fmt: skip

    def _descend(self, start: Floats, cost: float) -> Floats:
        """Single replicas, single workloads, then couples, exchanges and swaps, until nothing gains any more."""
        here = start
        for _ in range(_ROUNDS):
            before = cost
            for group in self._groups():
                if self._budget.over:
                    return here
                here, cost = self._sweep(here, cost, group)
            if cost < before - _GAIN:
                continue
            if self._now.size <= _SMALL:
                here, cost = self._better(here, cost, couples(here, self._limits, self._passes, self._application))
                here, cost = self._better(here, cost, exchanges(here, self._movable, many=_NEAREST))
            if cost < before - _GAIN:
                continue
            for part in self._parts:
                here, cost = self._elsewhere(here, cost, part)
            if cost < before - _GAIN:
                continue
            for workload in self._movable.tolist():
                if self._budget.over:
                    return here
                here, cost = self._swapped(here, cost, workload)
            if cost >= before - _GAIN:
                break
        return here

    def _groups(self) -> Iterator[list[int]]:
        """Workloads whose single moves are judged at once."""
        size = max(1, self._together)
        movable = self._movable.tolist()
        yield from (movable[at : at + size] for at in range(0, len(movable), size))

    def _sweep(self, here: Floats, cost: float, group: list[int]) -> tuple[Floats, float]:
        """The best single move of each workload; of these the best alone, the best two, and so on: whatever gains most."""
        if len(group) == 1:
            return self._moved(here, cost, group[0])
        places = self._places(here)
        moves = [self._all_rows(here, workload, places[workload]) for workload in group]
        found: list[tuple[float, int, Floats]] = []
        for workload, tried, each in zip(group, moves, self._costs_of_group(here, group, moves), strict=True):
            least = int(np.argmin(each)) if len(each) else 0
            if len(each) and each[least] < cost - _GAIN:
                found.append((float(each[least]), workload, tried[least]))
        if not found:
            return here, cost
        found.sort(key=lambda each: each[:2])
        steps = np.repeat(here[np.newaxis], len(found), axis=0)
        for number, (_, workload, row) in enumerate(found):
            steps[number:, workload] = row
        return self._better(here, cost, steps)

    def _costs_of_group(self, here: Floats, group: list[int], moves: list[Floats]) -> list[Floats]:
        if self._one_by_one:
            return [self._costs(here, workload, rows) for workload, rows in zip(group, moves, strict=True)]
        tables = [with_rows(here, workload, rows) for workload, rows in zip(group, moves, strict=True)]
        return np.split(self.cost(np.concatenate(tables)), np.cumsum([len(each) for each in moves])[:-1])

    def _moved(self, here: Floats, cost: float, workload: int) -> tuple[Floats, float]:
        """The best single move of one workload."""
        best, least = here, cost - _GAIN
        for rows in self._rows(here, workload, self._places_of(here, workload)):
            costs = self._costs(here, workload, rows)
            chosen = int(np.argmin(costs)) if len(costs) else 0
            if len(costs) and costs[chosen] < least:
                best, least = with_rows(here, workload, rows[chosen][np.newaxis])[0], float(costs[chosen])
        return (here, cost) if best is here else (best, least)

    def _better(self, here: Floats, cost: float, others: Floats) -> tuple[Floats, float]:
        if not len(others):
            return here, cost
        costs = self.cost(others)
        least = int(np.argmin(costs))
        return (others[least], float(costs[least])) if costs[least] < cost - _GAIN else (here, cost)

    def _places(self, here: Floats) -> list[Ints]:
        """Where each workload may go; of many nodes those nearest to its peers, and those in use."""
        pull = self._passes.pull(here) if here.shape[1] > _NEAREST else here
        held = here.sum(axis=0)
        return [self._chosen(each, held, pull[each]) for each in range(len(here))]

    def _places_of(self, here: Floats, workload: int) -> Ints:
        pull = self._passes.pull_of(here, workload) if here.shape[1] > _NEAREST else here[workload]
        return self._chosen(workload, here.sum(axis=0), pull)

    def _chosen(self, workload: int, held: Floats, pull: Floats) -> Ints:
        may = self._limits.allowed[workload] | (self._now[workload] > 0)
        if len(may) <= _NEAREST:
            return np.flatnonzero(may)
        nearest = np.lexsort((np.arange(len(may)), held, np.where(may, pull, np.inf)))[:_NEAREST]
        chosen = held > 0
        chosen[nearest] = True
        return np.flatnonzero(chosen & may)

    def _rows(self, here: Floats, workload: int, places: Ints) -> Iterator[Floats]:
        """One replica elsewhere, or all replicas on one node, at these places: [c, n] of the workload, piece by piece."""
        row = here[workload]
        hosts = np.flatnonzero(row > 0)
        size = max(1, _AT_ONCE // max(1, len(places) * len(row)))
        for at in range(0, len(hosts), size):
            found = np.repeat(row[np.newaxis], len(hosts[at : at + size]) * len(places), axis=0)
            each = np.arange(len(found))
            found[each, np.repeat(hosts[at : at + size], len(places))] -= 1
            found[each, np.tile(places, len(hosts[at : at + size]))] += 1
            yield found
        if self._several[workload]:
            yield self._passes.whole(workload, places)

    def _all_rows(self, here: Floats, workload: int, places: Ints) -> Floats:
        return np.concatenate([here[workload][np.newaxis][:0], *self._rows(here, workload, places)])

    def _alone(self, here: Floats, workload: int, places: Ints) -> Floats:
        """The same as whole placements."""
        return with_rows(here, workload, self._all_rows(here, workload, places))

    def _elsewhere(self, here: Floats, cost: float, part: Ints) -> tuple[Floats, float]:
        """A part of the application that has nothing to do with the rest, as a whole at every node or around it."""
        passes = self._passes.beginning(here, movable=part)
        target = here.copy()
        found: list[Floats] = []
        best, least = here, cost
        for node in range(here.shape[1]):
            if self._budget.over:
                break
            self._budget.spend(passes.effort)
            for workload in part.tolist():
                target[workload] = passes.whole(workload, np.array([node]))[0]
            found.append(passes.spilled(target))
            if len(found) * here.size > AT_ONCE:
                best, least = self._better(best, least, np.stack(found))
                found = []
        return self._better(best, least, np.stack(found)) if found else (best, least)

    def _swapped(self, here: Floats, cost: float, workload: int) -> tuple[Floats, float]:
        """The workload where it would like to be but does not fit, with one that stands there sent elsewhere."""
        best, least = here, cost
        together: list[Floats] = []
        for place in self._blocked(here, cost, workload):
            guests = self._guests(place, workload)
            if self._one_by_one and guests:
                best, least = self._best_guest(self._around(place), guests, best, least)
            for guest, node in () if self._one_by_one else guests:
                together.append(with_rows(place, guest, away(place[guest], node)))
                if len(together) * together[0].size > AT_ONCE:
                    best, least = self._better(best, least, np.concatenate(together))
                    together = []
        return self._better(best, least, np.concatenate(together)) if together else (best, least)

    @staticmethod
    def _best_guest(around: Nearby, guests: list[tuple[int, int]], best: Floats, least: float) -> tuple[Floats, float]:
        for guest, node in guests:
            rows = away(around.here[guest], node)
            costs = around.cost(guest, rows)
            chosen = int(np.argmin(costs))
            if costs[chosen] < least - _GAIN:
                best, least = with_rows(around.here, guest, rows[chosen][np.newaxis])[0], float(costs[chosen])
        return best, least

    def _guests(self, place: Floats, workload: int) -> list[tuple[int, int]]:
        """Who else stands on the node that is too full, and takes enough with him; there is nobody if several are."""
        over = self._used(place[np.newaxis])[0] - self._room
        full = np.flatnonzero((over > _SLACK).any(axis=1))
        if len(full) != 1:
            return []
        left = over[full[0]] - place[:, full[0], np.newaxis] * self._limits.demand
        enough = (left <= _SLACK).all(axis=1) & (place[:, full[0]] > 0)
        return [(guest, int(full[0])) for guest in self._movable.tolist() if guest != workload and enough[guest]]

    def _blocked(self, here: Floats, cost: float, workload: int) -> list[Floats]:
        """The best places of a workload that others take the room of."""
        wishes: list[tuple[float, Floats]] = []
        for rows in self._rows(here, workload, self._places_of(here, workload)):
            blocked = rows[self._overfull_with(here, workload, rows)]
            if len(blocked):
                free = self._milliseconds(here, workload, blocked)
                chosen = np.argsort(free, kind="stable")[:_BLOCKED].tolist()
                wishes += [(float(free[each]), blocked[each]) for each in chosen if free[each] < cost]
        wishes.sort(key=lambda each: each[0])
        return [with_rows(here, workload, row[np.newaxis])[0] for _, row in wishes[:_BLOCKED]]

    def _overfull_with(self, here: Floats, workload: int, rows: Floats) -> Mask:
        added = (rows - here[workload])[:, :, np.newaxis] * self._limits.demand[workload]
        found: Mask = (self._used(here[np.newaxis]) + added > self._room + _SLACK).any(axis=(1, 2))
        return found


class _Calm(Search):
    """The same search for what the slowest requests take, among placements that cost at most so much."""

    def __init__(
        self, application: CallGraph, prediction: Prediction, limits: Limits, budget: Budget, *, most: float
    ) -> None:
        super().__init__(application, prediction, limits, budget)
        self._most = most

    def cost(self, counts: Floats) -> Floats:
        found = super().cost(counts)
        slowest = found + self._prediction.uneven(counts) + self._prediction.unsteady(counts)
        return np.where(found <= self._most, slowest, np.inf)

    def _around(self, here: Floats) -> Nearby:
        return _CalmNearby(self._prediction, self._standing, here, self._budget, most=self._most)


class _CalmNearby(Nearby):
    def __init__(
        self, prediction: Prediction, standing: Standing, here: Floats, budget: Budget, *, most: float
    ) -> None:
        super().__init__(prediction, standing, here, budget)
        self._most = most

    def _more(self, costs: Floats, change: Change, workload: int, rows: Floats) -> Floats:
        return np.where(costs <= self._most, costs + self._slowest(change, workload, rows), np.inf)
