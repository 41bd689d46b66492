"""Shortest paths, for everything here that has links between nodes.

Two questions are asked. How long is the way between every pair: a table, computed by SciPy, since clusters have thousands
of nodes. And which way is it: a tree from one node, where of two ways of the same length the one with fewer hops counts, and
of those the one found first, so that the answer never depends on how a heap breaks ties.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np

from ecotone.model.arrays import Floats, Ints

Neighbours = Sequence[Sequence[tuple[int, float]]]
"""For each node the nodes it has a link to, with the link's length."""


@dataclass(frozen=True, slots=True)
class PathTree:
    """Shortest paths from one node. `before` is the node before each on its way; -1 for the source and the unreachable."""

    source: int
    length: list[float]
    before: list[int]

    def reaches(self, target: int) -> bool:
        """True if there is a way."""
        return self.length[target] < inf

    def nodes_to(self, target: int) -> list[int]:
        """The nodes on the way, both ends included."""
        way = [target]
        while way[-1] != self.source:
            way.append(self.before[way[-1]])
        return way[::-1]


def path_tree(neighbours: Neighbours, source: int) -> PathTree:
    """Dijkstra's algorithm by length, then by number of hops, then by the order of the links."""
    length, hops, before = [inf] * len(neighbours), [0] * len(neighbours), [-1] * len(neighbours)
    length[source] = 0.0
    heap = [(0.0, 0, source)]
    while heap:
        reached, steps, node = heappop(heap)
        if (reached, steps) > (length[node], hops[node]):
            continue
        for neighbour, further in neighbours[node]:
            found = (reached + further, steps + 1)
            if found < (length[neighbour], hops[neighbour]):
                length[neighbour], hops[neighbour] = found
                before[neighbour] = node
                heappush(heap, (*found, neighbour))
    return PathTree(source, length, before)


def path_lengths(size: int, *, starts: Ints, ends: Ints, lengths: Floats, directed: bool) -> Floats:
    """The length of the shortest path between every pair of nodes; infinite where there is none."""
    if not size:
        return np.zeros((0, 0))
    # Loading SciPy takes longer than most commands run.
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    # Explicit zeros stay links in this representation (cloud hosts of one site are 0 ms apart).
    graph = csr_array((lengths, (starts, ends)), shape=(size, size))
    return np.asarray(shortest_path(graph, directed=directed), dtype=np.float64)
