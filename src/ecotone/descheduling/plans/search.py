"""The search for a better placement of one application, on counts.

Three moves, the coarse ones first. A chain pass after Kernighan and Lin sends workload after workload to one target, the
least loss next, even uphill, and keeps the best prefix: a chain that settled far from its users gets there only as a whole.
Targets are single nodes and, where Services prefer what is near, the users' sites in proportion to demand. Then single
replicas and single workloads move as long as that helps, and at last pairs swap where one stands in the other's way.

Placements that exceed capacity or that the filters refuse cost infinitely much. What is compared is J plus prices: of
nodes, of owners' preferences, of the risk that one node takes all replicas with it, and a little for every pod that moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.prediction import Prediction

_ROUNDS = 40
_BLOCKED = 4  # places per workload where somebody may stand in the way
_GAIN = 1e-6
_STARTS = 4  # chain passes that the fine moves go on from: the best coarse answer is not always the best in the end


@dataclass(frozen=True, slots=True)
class Limits:
    """What a placement must keep and what it pays beside J.

    `allowed[w, n]`: the filters take the workload there; `demand[w, r]` and `free[n, r]`: requests and room without this
    application; `movable[w]`; `price[w, n]` in ms for the whole workload there; `together`: ms if all replicas of all
    workloads stand on single nodes (`apart`: they must not); `moving`: ms a pod.
    """

    allowed: Mask
    demand: Floats
    free: Floats
    movable: Mask
    price: Floats
    together: float = 1.0
    apart: bool = False
    moving: float = 0.1


class Search:
    def __init__(self, application: CallGraph, prediction: Prediction, limits: Limits) -> None:
        self._application = application
        self._prediction = prediction
        self._limits = limits
        self._now = application.counts.astype(np.float64)
        self._replicas = self._now.sum(axis=1)
        self._room = np.maximum(limits.free, self._used(self._now[np.newaxis])[0])
        self._several = self._replicas > 1
        self._movable = np.flatnonzero(limits.movable)

    def best(self) -> Ints:
        """The best placement found; the present one if nothing is better."""
        starts = [(float(self.cost(self._now[np.newaxis])[0]), self._now)]
        for target in self._targets():
            prefixes = self._prefixes(target)
            costs = self.cost(prefixes)
            least = int(np.argmin(costs))
            starts.append((float(costs[least]), prefixes[least]))
        starts.sort(key=lambda each: each[0])  # equal ones stay in the order of nodes, the present place first
        ends = [self._descend(start, cost) for cost, start in starts[:_STARTS]]
        found = ends[int(np.argmin(self.cost(np.stack(ends))))]
        return found.astype(np.int64)

    def descend(self, start: Floats) -> Ints:
        """The nearest placement that no single move or swap betters."""
        return self._descend(start, float(self.cost(start[np.newaxis])[0])).astype(np.int64)

    def optima(self, start: Floats) -> list[Ints]:
        """What a descent from here ends in, and from the best prefix of every chain pass: many answers instead of one."""
        found = [self._descend(start, float(self.cost(start[np.newaxis])[0]))]
        for target in self._targets():
            prefixes = self._prefixes(target)
            costs = self.cost(prefixes)
            least = int(np.argmin(costs))
            if np.isfinite(costs[least]):
                found += [prefixes[least], self._descend(prefixes[least], float(costs[least]))]
        return [each.astype(np.int64) for each in found]

    def cost(self, counts: Floats) -> Floats:
        """J and the prices beside it, infinite where limits are broken."""
        limits = self._limits
        found = self._prediction.cost(counts)
        shares = counts / np.maximum(self._replicas, 1.0)[:, np.newaxis]
        found += (shares * limits.price).sum(axis=(1, 2)) / max(len(shares[0]), 1)
        gained = np.maximum(counts - self._now, 0.0)
        found += limits.moving * gained.sum(axis=(1, 2))
        if self._several.any():
            alone = (counts.max(axis=2) >= self._replicas) & self._several
            found += limits.together * alone.sum(axis=1) / self._several.sum()
            if limits.apart:
                found[(alone & (gained.sum(axis=2) > 0)).any(axis=1)] = np.inf
        found[((gained > 0) & ~limits.allowed).any(axis=(1, 2))] = np.inf
        found[(self._used(counts) > self._room + 1e-6).any(axis=(1, 2))] = np.inf
        return found

    def _used(self, counts: Floats) -> Floats:
        """[c, n, r]: what the application's pods ask for on each node."""
        found: Floats = np.einsum("cwn,wr->cnr", counts, self._limits.demand)
        return found

    def _targets(self) -> Iterator[Floats]:
        """Where everything might go: [w, n] counts."""
        nodes = self._now.shape[1]
        for node in range(nodes):
            target = np.zeros_like(self._now)
            target[:, node] = self._replicas
            yield target
        demand = self._application.users.sum(axis=0)
        sites = np.argsort(-demand, kind="stable")[: int((demand > 0).sum())]
        for number in range(2, min(len(sites), int(self._replicas.max(initial=1))) + 1):
            yield np.stack([_in_proportion(int(each), demand, sites[:number]) for each in self._replicas])

    def _prefixes(self, target: Floats) -> Floats:
        """Placements with the first workload at the target, the first two, and so on."""
        order = self._pass(target)
        found = np.repeat(self._now[np.newaxis], len(order) + 1, axis=0)
        for place, workload in enumerate(order):
            found[place + 1 :, workload] = target[workload]
        return found[1:] if order else found

    def _pass(self, target: Floats) -> list[int]:
        """The workloads in the order of least loss on the network, as far as they fit."""
        application = self._application
        here = self._now / np.maximum(self._replicas, 1.0)[:, np.newaxis]
        there = target / np.maximum(self._replicas, 1.0)[:, np.newaxis]
        talk = np.zeros((len(here), len(here)))
        for call in application.calls:
            talk[call.caller, call.callee] += call.rate
            talk[call.callee, call.caller] += call.rate
        from_here, from_there = here @ application.rtt, there @ application.rtt
        before = talk * (from_there @ here.T - from_here @ here.T)
        after = talk * (from_there @ there.T - from_here @ there.T)
        users = application.users @ application.rtt
        loss = (users * (there - here)).sum(axis=1) + before.sum(axis=1)
        used = self._used(self._now[np.newaxis])[0]
        comes = np.maximum(target - self._now, 0.0)
        left = [
            workload
            for workload in self._movable.tolist()
            if comes[workload].any() and self._limits.allowed[workload, comes[workload] > 0].all()
        ]
        sites = np.flatnonzero(comes.any(axis=0))
        demand = self._limits.demand
        more = comes[:, sites, np.newaxis] * demand[:, np.newaxis, :]
        elsewhere = comes[:, sites] == 0.0
        waiting = np.zeros(len(here), dtype=np.bool_)
        waiting[left] = True
        order: list[int] = []
        while waiting.any():
            fits = (used[sites] + more <= self._room[sites] + 1e-6).all(axis=2) | elsewhere
            fitting = fits.all(axis=1) & waiting
            if not fitting.any():
                break
            chosen = int(np.argmin(np.where(fitting, loss, np.inf)))
            waiting[chosen] = False
            order.append(chosen)
            used += np.outer(target[chosen] - self._now[chosen], demand[chosen])
            loss = loss + after[:, chosen] - before[:, chosen]
        return order

    def _descend(self, start: Floats, cost: float) -> Floats:
        """Single replicas, single workloads, then swaps, until nothing gains any more."""
        here = start
        for _ in range(_ROUNDS):
            before = cost
            for workload in self._movable.tolist():
                here, cost = self._better(here, cost, self._alone(here, workload))
            if cost < before - _GAIN:
                continue
            for workload in self._movable.tolist():
                here, cost = self._better(here, cost, self._swaps(here, cost, workload))
            if cost >= before - _GAIN:
                break
        return here

    def _better(self, here: Floats, cost: float, others: Floats) -> tuple[Floats, float]:
        if not len(others):
            return here, cost
        costs = self.cost(others)
        least = int(np.argmin(costs))
        return (others[least], float(costs[least])) if costs[least] < cost - _GAIN else (here, cost)

    def _alone(self, here: Floats, workload: int) -> Floats:
        """One replica elsewhere, or all replicas on one node."""
        nodes = here.shape[1]
        hosts = np.flatnonzero(here[workload] > 0)
        found = np.repeat(here[np.newaxis], (len(hosts) + 1) * nodes, axis=0)
        each = np.arange(nodes)
        for number, host in enumerate(hosts.tolist()):
            found[number * nodes + each, workload, host] -= 1
            found[number * nodes + each, workload, each] += 1
        found[len(hosts) * nodes :, workload] = np.eye(nodes) * self._replicas[workload]
        return found

    def _swaps(self, here: Floats, cost: float, workload: int) -> Floats:
        """The workload where it would like to be but does not fit, with one that stands there sent elsewhere."""
        wishes = self._alone(here, workload)
        free = self._prediction.cost(wishes)
        blocked = (self._used(wishes) > self._room + 1e-6).any(axis=(1, 2))
        free[~blocked] = np.inf
        found = []
        for wish in np.argsort(free, kind="stable")[:_BLOCKED].tolist():
            if free[wish] >= cost:
                break
            place = wishes[wish]
            full = np.flatnonzero((self._used(place[np.newaxis])[0] > self._room + 1e-6).any(axis=1))
            found += [
                self._away(place, guest, node)
                for guest in self._movable.tolist()
                for node in full.tolist()
                if guest != workload and place[guest, node] > 0
            ]
        return np.concatenate(found) if found else here[np.newaxis][:0]

    def _away(self, place: Floats, guest: int, node: int) -> Floats:
        nodes = place.shape[1]
        found = np.repeat(place[np.newaxis], nodes, axis=0)
        leaving = place[guest, node]
        found[:, guest, node] -= leaving
        found[np.arange(nodes), guest, np.arange(nodes)] += leaving
        return found


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
