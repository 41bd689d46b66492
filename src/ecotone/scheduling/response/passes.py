"""Where a whole application might go: coarse answers that the fine moves of a search go on from.

A chain that settled far from its users gets to them only as a whole. For every target, one node or the users' sites in
proportion to demand, there are two ways to it, and what fits at the end of each is different where room is short:

* *grown*, after Kernighan and Lin: workload after workload goes to the target, the least loss next, even uphill, as long as
  it fits; every prefix of that way is an answer;
* *thinned*: everything goes to the target at once, and what exceeds its room goes back, that first which loses least
  for the room it gives; or on to the next node with room (*spilled*), where going back is too far from the others.

Both look at the network alone, which is what whole applications move for; who looks at CPU as well comes after them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.redundancy.tables import Redundancy
from ecotone.scheduling.response.call_graph import CallGraph

_FULL = 1e-6


class Passes:
    """`demand[w, r]` and `room[n, r]`: what a pod asks for and what there is; `allowed[w, n]` and `movable`: who may where."""

    def __init__(
        self,
        application: CallGraph,
        *,
        demand: Floats,
        room: Floats,
        allowed: Mask,
        movable: Ints,
        redundancy: Redundancy | None = None,
    ) -> None:
        self._application = application
        self._now = application.counts.astype(np.float64)
        self._replicas = np.maximum(self._now.sum(axis=1), 1.0)[:, np.newaxis]
        self._demand = demand
        self._room = room
        self._allowed = allowed
        self._movable = movable
        self._redundancy = redundancy
        size = len(self._now)
        self._talk = np.zeros((size, size))
        for call in application.calls:
            self._talk[call.caller, call.callee] += call.rate
            self._talk[call.callee, call.caller] += call.rate
        self._users = application.users @ application.rtt

    def beginning(self, here: Floats, *, movable: Ints) -> Passes:
        """The same from another placement, with these workloads alone on the way."""
        return Passes(
            replace(self._application, counts=here.astype(np.int64)),
            demand=self._demand,
            room=self._room,
            allowed=self._allowed,
            movable=movable,
            redundancy=self._redundancy,
        )

    def whole(self, workload: int, places: Ints) -> Floats:
        """[p, n]: all of a workload at each of these nodes, or as near to that as redundancy lets it be."""
        replicas = float(self._now[workload].sum())
        if self._redundancy is not None:
            return self._redundancy.around(workload, replicas, places)
        found = np.zeros((len(places), self._now.shape[1]))
        found[np.arange(len(places)), places] = replicas
        return found

    @property
    def size(self) -> int:
        """How many targets there are: every node, then the two largest sites of users, the three largest, and so on."""
        return int(self._now.shape[1]) + max(0, self._most_sites - 1)

    @property
    def effort(self) -> float:
        """Evaluations that looking at a target takes."""
        workloads, nodes = self._now.shape
        return float(workloads * workloads * nodes / 3)

    @property
    def _most_sites(self) -> int:
        demand = self._application.users.sum(axis=0)
        return min(int((demand > 0).sum()), int(self._now.sum(axis=1).max(initial=1)))

    def targets(self) -> Iterator[Floats]:
        """Where everything might go: [w, n] counts."""
        return (self.target(number) for number in range(self.size))

    def nearest_first(self) -> list[int]:
        """The numbers of all targets, several sites first, then the nodes nearest to users and to what stays."""
        nodes = self._now.shape[1]
        stays = np.ones(len(self._now), dtype=np.bool_)
        stays[self._movable] = False
        here = self._talk[:, stays].sum(axis=0) @ (self._now / self._replicas)[stays]
        away = self._users.sum(axis=0) + here @ self._application.rtt
        return [*range(nodes, self.size), *np.argsort(away, kind="stable").tolist()]

    def target(self, number: int) -> Floats:
        replicas = self._now.sum(axis=1)
        nodes = self._now.shape[1]
        if number < nodes:
            return np.concatenate([self.whole(workload, np.array([number])) for workload in range(len(replicas))])
        demand = self._application.users.sum(axis=0)
        sites = np.argsort(-demand, kind="stable")[: number - nodes + 2]
        shared = [_in_proportion(int(each), demand, sites) for each in replicas]
        if self._redundancy is not None:
            shared = [self._redundancy.mended(workload, row) for workload, row in enumerate(shared)]
        return np.stack(shared)

    def pull(self, here: Floats) -> Floats:
        """[w, n]: milliseconds per second that a workload's calls would travel with it on each node and the others as here."""
        found: Floats = self._users + self._talk @ (here / self._replicas) @ self._application.rtt
        return found

    def pull_of(self, here: Floats, workload: int) -> Floats:
        """[n]: the same of one workload."""
        found: Floats = self._users[workload] + self._talk[workload] @ (here / self._replicas) @ self._application.rtt
        return found

    def prefixes(self, target: Floats, *, at_once: int) -> Iterator[Floats]:
        """Placements with the first workload at the target, the first two, and so on, some at a time; or the present one."""
        order = self._order(target)
        here = self._now
        if not order:
            yield here[np.newaxis]
        for at in range(0, len(order), at_once):
            found = np.repeat(here[np.newaxis], len(order[at : at + at_once]), axis=0)
            for place, workload in enumerate(order[at : at + at_once]):
                found[place:, workload] = target[workload]
            here = found[-1]
            yield found

    def _goers(self, target: Floats) -> list[int]:
        comes = target > self._now
        return [
            workload
            for workload in self._movable.tolist()
            if comes[workload].any() and self._allowed[workload, comes[workload]].all()
        ]

    def _order(self, target: Floats) -> list[int]:
        """The workloads in the order of least loss, as far as they fit."""
        rtt, talk, demand = self._application.rtt, self._talk, self._demand
        here, there = self._now / self._replicas, target / self._replicas
        from_here, from_there = here @ rtt, there @ rtt
        before = talk * (from_there @ here.T - from_here @ here.T)
        after = talk * (from_there @ there.T - from_here @ there.T)
        loss = (self._users * (there - here)).sum(axis=1) + before.sum(axis=1)
        used = self._now.T @ demand
        comes = np.maximum(target - self._now, 0.0)
        sites = np.flatnonzero(comes.any(axis=0))
        more = comes[:, sites, np.newaxis] * demand[:, np.newaxis, :]
        elsewhere = comes[:, sites] == 0.0
        waiting = np.zeros(len(here), dtype=np.bool_)
        waiting[self._goers(target)] = True
        order: list[int] = []
        while waiting.any():
            fits = (used[sites] + more <= self._room[sites] + _FULL).all(axis=2) | elsewhere
            fitting = fits.all(axis=1) & waiting
            if not fitting.any():
                break
            chosen = int(np.argmin(np.where(fitting, loss, np.inf)))
            waiting[chosen] = False
            order.append(chosen)
            used += np.outer(target[chosen] - self._now[chosen], demand[chosen])
            loss = loss + after[:, chosen] - before[:, chosen]
        return order

    def thinned(self, target: Floats) -> Floats:
        """Everything at the target, without what has to stay where it is for want of room."""
        return self._relieved(target, self._back)

    def spilled(self, target: Floats) -> Floats:
        """Everything at the target, and what there is no room for on the nearest node that has some."""
        return self._relieved(target, self._next_best)

    def _back(self, found: Floats, chosen: int) -> Floats:
        del found
        here: Floats = self._now[chosen]
        return here

    def _next_best(self, found: Floats, chosen: int) -> Floats:
        """The workload at the node with the least way to its peers that takes all of it."""
        asked, others = self._demand[chosen], found.T @ self._demand - np.outer(found[chosen], self._demand[chosen])
        wholes = self.whole(chosen, np.arange(found.shape[1]))
        # At node n it needs room for wholes[n, m] pods on m.
        wanted = asked > 0.0
        pods = ((self._room + _FULL - others)[:, wanted] / asked[wanted]).min(axis=1, initial=np.inf)
        takes = (wholes <= np.where(self._allowed[chosen], pods, 0.0)).all(axis=1)
        if not takes.any():
            return self._back(found, chosen)
        away: Floats = wholes[int(np.argmin(np.where(takes, self.pull(found)[chosen], np.inf)))]
        return away

    def _relieved(self, target: Floats, place: Callable[[Floats, int], Floats]) -> Floats:
        """Everything at the target but what exceeds its room: that finds its place as told."""
        rtt = self._application.rtt
        here, there = self._now / self._replicas, target / self._replicas
        nearer = here @ rtt - there @ rtt
        gain = (self._users * (here - there)).sum(axis=1)
        found = self._now.copy()
        goers = self._goers(target)
        found[goers] = target[goers]
        back = np.zeros(len(found), dtype=np.bool_)
        back[goers] = True
        while back.any():
            over = np.maximum(found.T @ self._demand - self._room - _FULL, 0.0)
            if not over.any():
                break
            relief = self._relief(found, over)
            loss = gain + ((self._talk @ (found / self._replicas)) * nearer).sum(axis=1)
            worth = np.where(loss > 0.0, loss / np.maximum(relief, 1e-9), loss)
            worth[~back | (relief <= 0.0)] = np.inf
            chosen = int(np.argmin(worth))
            if not np.isfinite(worth[chosen]):
                break
            found[chosen] = place(found, chosen)
            back[chosen] = False
        return found

    def _relief(self, found: Floats, over: Floats) -> Floats:
        """The share of what is too much that each workload would take away with it."""
        shares = np.zeros(len(found))
        nodes, resources = np.nonzero(over)
        for node, resource in zip(nodes.tolist(), resources.tolist(), strict=True):
            leaves = np.maximum(found[:, node] - self._now[:, node], 0.0) * self._demand[:, resource]
            shares += np.minimum(1.0, leaves / over[node, resource]) / len(nodes)
        return shares


def _in_proportion(replicas: int, demand: Floats, sites: Ints) -> Floats:
    """Replicas over sites by largest remainder; as long as there are enough, every site gets one."""
    found = np.zeros(len(demand))
    share = demand[sites] / demand[sites].sum()
    base = 1.0 if replicas >= len(sites) else 0.0
    quota = base + share * (replicas - base * len(sites))
    whole = np.floor(quota + 1e-9)
    rest = replicas - int(whole.sum())
    largest = np.argsort(-(quota - whole), kind="stable")[:rest]
    whole[largest] += 1
    found[sites] = whole
    return found
