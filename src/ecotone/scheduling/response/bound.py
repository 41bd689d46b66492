"""What no placement of an application can undercut: a lower bound of J that costs a hundredth of a search.

Most applications are where they should be, and a search that ends with "nothing to gain" takes as long as any other. The
bound leaves out what couples workloads beyond their calls (room, other workloads on the same node) and keeps the rest:

* Network. The milliseconds of a call are bilinear in where caller and callee are, so some best placement has every workload
  on one node, and over calls that form a tree the best such placement is found exactly, leaves first. Calls beyond the
  tree, and calls that a Service sends to whoever is near, count nothing. What may not move pulls from where it is.
* CPU. What waiting costs is convex in a node's use, so it lies above its tangents; the application's use is spread over
  all nodes at will.

Both only ever leave something out, so J of every placement that the limits allow is at least what is told here.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ecotone.model.arrays import Floats, Mask
from ecotone.scheduling.costs.cost import waiting
from ecotone.scheduling.response.call_graph import UNIFORM, CallGraph
from ecotone.scheduling.response.prediction import others_wait

_IDLE = 1e-9  # the formula of waiting wants some utilisation
_HALVINGS = 40

Edge = tuple[int, int, Floats]  # caller, callee, milliseconds per second by node of the caller and of the callee


def least_cost(application: CallGraph, *, movable: Mask, allowed: Mask) -> float:
    """In ms per request; `allowed[w, n]`: where pods of a workload may come to, beside where they are."""
    network = _Network(application, movable=movable, allowed=allowed).least()
    return (network + _least_waiting(application)) / application.rate


class _Network:
    def __init__(self, application: CallGraph, *, movable: Mask, allowed: Mask) -> None:
        self._application = application
        hosts = application.counts > 0
        replicas = np.maximum(application.counts.sum(axis=1, keepdims=True), 1)
        self._share = application.counts / replicas
        near = np.array(application.balance) != UNIFORM
        self._near = near
        # Where a workload that is near for its callers does its work depends on them, even if its pods stay.
        self._fixed = ~movable & ~near
        self._places = hosts | (allowed & movable[:, np.newaxis])
        users = application.users @ application.rtt
        nearest = np.where(self._places[:, np.newaxis, :], application.rtt, np.inf).min(axis=2)
        self._pull = np.where(near[:, np.newaxis], (application.users * nearest).sum(axis=1, keepdims=True), users)

    def least(self) -> float:
        """Milliseconds per second."""
        free: dict[tuple[int, int], list[Edge]] = {}
        known = float((self._pull * self._share)[self._fixed].sum())
        for caller, callee, weight in self._edges():
            match bool(self._fixed[caller]), bool(self._fixed[callee]):
                case True, True:
                    known += float(self._share[caller] @ weight @ self._share[callee])
                case True, False:
                    self._pull[callee] += self._share[caller] @ weight
                case False, True:
                    self._pull[caller] += weight @ self._share[callee]
                case _:
                    pair = (min(caller, callee), max(caller, callee))
                    free.setdefault(pair, []).append((caller, callee, weight))
        return known + self._over_trees(free)

    def _edges(self) -> Iterator[Edge]:
        application = self._application
        for call in application.calls:
            if not self._near[call.callee]:
                yield call.caller, call.callee, call.rate * application.rtt
        for each in application.deadlines:
            if not self._near[each.callee]:
                yield each.caller, each.callee, application.rate * each.price

    def _over_trees(self, free: dict[tuple[int, int], list[Edge]]) -> float:
        """Leaves tell what they cost at best for each place of the workload that they hang on."""
        costs = np.where(self._places, self._pull, np.inf)
        found = 0.0
        for workload, parent, edges in _leaves_first(np.flatnonzero(~self._fixed).tolist(), free):
            if parent is None:
                found += float(costs[workload].min())
                continue
            # [place of the parent, own place]
            between = sum((weight.T if caller == workload else weight for caller, _, weight in edges), start=0.0)
            costs[parent] += (between + costs[workload]).min(axis=1)
        return found


def _leaves_first(
    workloads: list[int], pairs: dict[tuple[int, int], list[Edge]]
) -> list[tuple[int, int | None, list[Edge]]]:
    """A forest over the workloads, the pairs with most traffic taken first: each with what it hangs on and how."""
    neighbours: dict[int, list[tuple[int, list[Edge]]]] = {each: [] for each in workloads}
    trees = {each: each for each in workloads}

    def root(each: int) -> int:
        while trees[each] != each:
            trees[each] = each = trees[trees[each]]
        return each

    heaviest = sorted(pairs, key=lambda pair: (-sum(float(weight.max()) for _, _, weight in pairs[pair]), pair))
    for one, other in heaviest:
        if root(one) != root(other):
            trees[root(one)] = root(other)
            neighbours[one].append((other, pairs[one, other]))
            neighbours[other].append((one, pairs[one, other]))
    found: list[tuple[int, int | None, list[Edge]]] = []
    seen: set[int] = set()
    for start in workloads:
        waiting_for: list[tuple[int, int | None, list[Edge]]] = [] if start in seen else [(start, None, [])]
        while waiting_for:
            here = waiting_for.pop()
            seen.add(here[0])
            found.append(here)
            waiting_for += [(each, here[0], edges) for each, edges in neighbours[here[0]] if each not in seen]
    return found[::-1]


def _least_waiting(application: CallGraph) -> float:
    """Milliseconds per second, less what the others wait for each other, as J has it."""
    cores, other = application.cores, application.other
    capacity = 1000 * cores
    use = float(application.use[application.awaited].sum())  # whoever nobody waits for only makes others wait
    low, high = 0.0, float(((other + use) / capacity).max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(middle * capacity - other, 0.0).sum() < use else (low, middle)
    touched = np.maximum(other, low * capacity)
    shares = np.maximum(touched / capacity, _IDLE)
    wait, slope = waiting(shares, cores)
    tangent = wait + shares * slope
    apart = capacity * shares * wait - tangent * (capacity * shares - other) - other * others_wait(application)
    return float(apart.sum() + use * tangent.min())
