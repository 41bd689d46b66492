"""Algorithm 8, match: as many pods as possible onto edge nodes, and of those ways the one with least fragmentation.

dp[i, pods] is the least fragmentation with exactly these pods on the first i edge nodes; a node takes any part of them that
fits. Pods of a service are alike, so a set of pods is a vector of counts and the table a block with one axis per service:
the same programme, of prod(n + 1) states instead of 2^sum(n). One table answers every subset, which is what `makeDecision`
asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.kubedsm.cluster import ROUNDING, Binding, Cluster
from ecotone.placement.kubedsm.fragmentation import Fragmentation, edge_fragmentation

Counts = tuple[int, ...]
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class Matching:
    """Where each matched pod goes; what did not fit is for the cloud."""

    bindings: tuple[Binding, ...]
    matched: Counts
    fragmentation: float


class Packings:
    """The whole table: the best packing of every subset of the wanted pods."""

    def __init__(self, cluster: Cluster, wanted: Ints, fragmentation: Fragmentation) -> None:
        self._cluster = cluster
        self._kinds = np.flatnonzero(wanted)
        shape = tuple(int(wanted[kind]) + 1 for kind in self._kinds)
        best = np.full(shape, np.inf)
        best[(0,) * len(shape)] = edge_fragmentation(cluster, fragmentation)
        self._choices: list[tuple[list[Counts], Ints]] = []
        for node in cluster.edge.tolist():
            best = self._with_node(best, node, fragmentation)
        self.fragmentation: Floats = best

    def _with_node(self, before: Floats, node: int, fragmentation: Fragmentation) -> Floats:
        options, change = self._options(before.shape, node, fragmentation)
        best = np.full(before.shape, np.inf)
        choice = np.zeros(before.shape, np.int64)
        for number, (taken, cost) in enumerate(zip(options, change, strict=True)):
            into = tuple(slice(count, None) for count in taken)
            start = tuple(slice(None, size - count) for size, count in zip(before.shape, taken, strict=True))
            reached = before[start] + cost
            better = reached < best[into] - _SAME
            best[into] = np.where(better, reached, best[into])
            choice[into] = np.where(better, number, choice[into])
        self._choices.append((options, choice))
        return best

    def _options(
        self, shape: tuple[int, ...], node: int, fragmentation: Fragmentation
    ) -> tuple[list[Counts], list[float]]:
        """What the node could take, and how its fragmentation would change."""
        cluster, kinds = self._cluster, self._kinds
        room = cluster.free[node] + ROUNDING * cluster.capacity[node]
        most = []
        for axis, kind in enumerate(kinds.tolist()):
            size = cluster.size[kind]
            fitting = shape[axis] - 1
            if (size > 0).any():
                fitting = min(fitting, int(max(0.0, (room[size > 0] / size[size > 0]).min() + ROUNDING)))
            most.append(fitting if cluster.allowed[kind, node] else 0)
        rows = list(product(*(range(count + 1) for count in most)))
        table = np.array(rows, np.int64).reshape(len(rows), len(most))
        need = table @ cluster.size[kinds]
        table, need = table[(need <= room).all(axis=1)], need[(need <= room).all(axis=1)]
        if not len(table):  # over-committed already: it takes nothing
            table, need = np.zeros((1, len(most)), np.int64), np.zeros((1, cluster.size.shape[1]))
        now = fragmentation(cluster.used[node], cluster.capacity[node])
        change = fragmentation(cluster.used[node] + need, cluster.capacity[node]) - now
        return [tuple(row) for row in table.tolist()], change.tolist()

    def subsets(self) -> list[Counts]:
        """Every subset that fits, as counts of the wanted services."""
        return [tuple(row) for row in np.argwhere(np.isfinite(self.fragmentation)).tolist()]

    def spread(self, counts: Counts) -> Ints:
        """Counts of the wanted services as a vector over all services."""
        found = np.zeros(len(self._cluster.services), np.int64)
        found[self._kinds] = counts
        return found

    def matching(self, counts: Counts) -> Matching:
        """The best packing of exactly these pods."""
        bindings: list[Binding] = []
        left = counts
        for node, (options, choice) in zip(reversed(self._cluster.edge.tolist()), reversed(self._choices), strict=True):
            taken = options[int(choice[left])]
            for kind, count in zip(self._kinds.tolist(), taken, strict=True):
                bindings += [Binding(kind, node)] * count
            left = tuple(a - b for a, b in zip(left, taken, strict=True))
        matched = tuple(self.spread(counts).tolist())
        return Matching(tuple(sorted(bindings, key=_by_index)), matched, float(self.fragmentation[counts]))


def match(cluster: Cluster, wanted: Ints, fragmentation: Fragmentation) -> Matching:
    """The largest subset that fits, with the least fragmentation among those."""
    packings = Packings(cluster, wanted, fragmentation)
    best = min(packings.subsets(), key=lambda counts: (-sum(counts), float(packings.fragmentation[counts]), counts))
    return packings.matching(best)


def _by_index(binding: Binding) -> tuple[int, int]:
    return binding.service, binding.target
