"""The network as a list of links.

Edge clusters are described by links, not by a matrix: the delay between two nodes is that of the best path. Three
things make the graph worth a module of its own. Distances are computed once per source and kept; when one link
changes, only what that change can touch is computed again. A channel may demand more than delay (bandwidth, jitter,
loss: the successor of Pogonip does), and then the delay-shortest path is not necessarily the one to judge by: a
slower path may be the one that carries the bandwidth. All three are bottleneck figures of a path (the worst link
decides), so removing the links that fail them and taking the shortest path in what is left is exact: it finds an
admissible path whenever there is one, and the fastest of them.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Link:
    """An undirected link. Bandwidth in bit/s, jitter in ms, loss as a share of messages."""

    a: str
    b: str
    latency_ms: float
    bandwidth: float = inf
    jitter_ms: float = 0.0
    loss: float = 0.0

    @property
    def key(self) -> frozenset[str]:
        return frozenset((self.a, self.b))


@dataclass(frozen=True, slots=True)
class QosRequirement:
    """What a channel demands of its path; None means no demand."""

    max_latency_ms: float | None = None
    min_bandwidth: float | None = None
    max_jitter_ms: float | None = None
    max_loss: float | None = None

    @property
    def unconstrained_links(self) -> bool:
        """No single link can violate it: only the path's delay counts."""
        return self.min_bandwidth is None and self.max_jitter_ms is None and self.max_loss is None

    @property
    def link_part(self) -> "QosRequirement":
        return replace(self, max_latency_ms=None)

    def admits(self, link: Link) -> bool:
        return (
            (self.min_bandwidth is None or link.bandwidth >= self.min_bandwidth)
            and (self.max_jitter_ms is None or link.jitter_ms <= self.max_jitter_ms)
            and (self.max_loss is None or link.loss <= self.max_loss)
        )


NO_REQUIREMENT = QosRequirement()


@dataclass(frozen=True, slots=True)
class Path:
    """What one path offers end to end."""

    nodes: tuple[str, ...]
    latency_ms: float
    bandwidth: float
    jitter_ms: float
    loss: float


class LinkGraph:
    """Links between named nodes, with all distances kept per channel requirement.

    A graph never changes: `with_link` and `without_link` return a new one that inherits every distance the change
    leaves valid.
    """

    def __init__(self, nodes: Iterable[str], links: Iterable[Link]) -> None:
        self._names = tuple(dict.fromkeys(nodes))
        self._index = {name: i for i, name in enumerate(self._names)}
        self._links: dict[frozenset[str], Link] = {}
        for link in links:
            self._check(link)
            if link.key in self._links:
                raise ValueError(f"two links between {link.a!r} and {link.b!r}")
            self._links[link.key] = link
        self._adjacent: dict[QosRequirement, list[list[tuple[int, float]]]] = {}
        self._distances: dict[QosRequirement, Matrix] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        return self._names

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(self._links.values())

    def link(self, a: str, b: str) -> Link | None:
        return self._links.get(frozenset((a, b)))

    def distances(self, requirement: QosRequirement = NO_REQUIREMENT) -> Matrix:
        """Delay between every pair of nodes over the links the requirement admits (read-only)."""
        key = requirement.link_part
        table = self._distances.get(key)
        if table is None:
            table = self._all_pairs(key)
            table.setflags(write=False)
            self._distances[key] = table
        return table

    def matrix(self, order: Sequence[str], requirement: QosRequirement = NO_REQUIREMENT) -> Matrix:
        """Distances in the given order of nodes; a node without links is reachable from itself alone."""
        table = self.distances(requirement)
        known = np.array([self._index.get(name, -1) for name in order], dtype=np.int64)
        result = table[np.ix_(known, known)] if len(self._names) else np.full((len(order), len(order)), inf)
        result[known < 0, :] = inf
        result[:, known < 0] = inf
        np.fill_diagonal(result, 0.0)
        return result

    def best_path(self, a: str, b: str, requirement: QosRequirement = NO_REQUIREMENT) -> Path | None:
        """The fastest path that meets the requirement, or None: no path does."""
        if a == b:
            return Path(nodes=(a,), latency_ms=0.0, bandwidth=inf, jitter_ms=0.0, loss=0.0)
        distance, before = self._dijkstra(self._index[a], requirement.link_part)
        target = self._index[b]
        limit = inf if requirement.max_latency_ms is None else requirement.max_latency_ms
        if distance[target] == inf or distance[target] > limit:
            return None
        steps = [target]
        while steps[-1] != self._index[a]:
            steps.append(before[steps[-1]])
        names = tuple(self._names[i] for i in reversed(steps))
        used = [self._links[frozenset(pair)] for pair in pairwise(names)]
        return Path(
            nodes=names,
            latency_ms=float(distance[target]),
            bandwidth=min(link.bandwidth for link in used),
            jitter_ms=max(link.jitter_ms for link in used),
            loss=max(link.loss for link in used),
        )

    def with_link(self, link: Link) -> "LinkGraph":
        """This graph with one link added or replaced; distances it cannot touch are kept."""
        self._check(link)
        return self._changed(self._links.get(link.key), link)

    def without_link(self, a: str, b: str) -> "LinkGraph":
        old = self.link(a, b)
        return self if old is None else self._changed(old, None)

    def _check(self, link: Link) -> None:
        for end in (link.a, link.b):
            if end not in self._index:
                raise ValueError(f"link names unknown node {end!r}")
        if link.a == link.b:
            raise ValueError(f"link from {link.a!r} to itself")
        if not (0 <= link.latency_ms < inf and link.bandwidth >= 0 and link.jitter_ms >= 0 and 0 <= link.loss <= 1):
            raise ValueError(f"link {link.a!r} - {link.b!r}: figures out of range")

    def _changed(self, old: Link | None, new: Link | None) -> "LinkGraph":
        graph = LinkGraph(self._names, ())
        graph._links = dict(self._links)
        present = new if new is not None else old
        assert present is not None
        if new is None:
            del graph._links[present.key]
        else:
            graph._links[present.key] = new
        a, b = self._index[present.a], self._index[present.b]
        for requirement, table in self._distances.items():
            before = old.latency_ms if old is not None and requirement.admits(old) else inf
            after = new.latency_ms if new is not None and requirement.admits(new) else inf
            graph._distances[requirement] = graph._updated(table, requirement, a=a, b=b, before=before, after=after)
        return graph

    def _updated(
        self, table: Matrix, requirement: QosRequirement, *, a: int, b: int, before: float, after: float
    ) -> Matrix:
        if after == before:
            return table
        result = table.copy()
        if after < before:
            # A cheaper link can only be used once on a shortest path, so one relaxation through it settles all pairs.
            forward = table[:, a][:, None] + after + table[b][None, :]
            backward = table[:, b][:, None] + after + table[a][None, :]
            np.minimum(result, np.minimum(forward, backward), out=result)
        else:
            # Only sources with a shortest path through the link can get farther from anything.
            to_a, to_b = table[:, a], table[:, b]
            with np.errstate(invalid="ignore"):
                slack = np.abs(np.abs(to_a - to_b) - before)
            tight = np.isfinite(to_a) & np.isfinite(to_b) & (slack <= 1e-9 * (1.0 + before))
            for source in np.flatnonzero(tight):
                result[source] = self._dijkstra(int(source), requirement)[0]
        result.setflags(write=False)
        return result

    def _all_pairs(self, requirement: QosRequirement) -> Matrix:
        links = [link for link in self._links.values() if requirement.admits(link)]
        ends = [[self._index[link.a] for link in links], [self._index[link.b] for link in links]]
        delays = np.array([link.latency_ms for link in links])
        size = len(self._names)
        # Explicit zeros stay links in this representation (cloud hosts of one site are 0 ms apart).
        graph = csr_array((delays, (ends[0], ends[1])), shape=(size, size))
        return np.asarray(dijkstra(graph, directed=False), dtype=np.float64) if size else np.zeros((0, 0))

    def _neighbours(self, requirement: QosRequirement) -> list[list[tuple[int, float]]]:
        adjacent = self._adjacent.get(requirement)
        if adjacent is None:
            adjacent = [[] for _ in self._names]
            for link in self._links.values():
                if requirement.admits(link):
                    a, b = self._index[link.a], self._index[link.b]
                    adjacent[a].append((b, link.latency_ms))
                    adjacent[b].append((a, link.latency_ms))
            self._adjacent[requirement] = adjacent
        return adjacent

    def _dijkstra(self, source: int, requirement: QosRequirement) -> tuple[Matrix, list[int]]:
        adjacent = self._neighbours(requirement)
        distance = [inf] * len(self._names)
        before = [-1] * len(self._names)
        distance[source] = 0.0
        heap = [(0.0, source)]
        while heap:
            reached, node = heapq.heappop(heap)
            if reached > distance[node]:
                continue
            for neighbour, latency in adjacent[node]:
                candidate = reached + latency
                if candidate < distance[neighbour]:
                    distance[neighbour] = candidate
                    before[neighbour] = node
                    heapq.heappush(heap, (candidate, neighbour))
        return np.array(distance), before
