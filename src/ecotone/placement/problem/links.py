"""The network as a list of links.

Edge clusters are described by links, not by a matrix: the delay between two nodes is that of the best path. Distances are
computed once and kept. A channel may demand more than delay (bandwidth, jitter,
loss: the successor of Pogonip does), and then the delay-shortest path is not necessarily the one to judge by: a
slower path may be the one that carries the bandwidth. All three are bottleneck figures of a path (the worst link
decides), so removing the links that fail them and taking the shortest path in what is left is exact: it finds an
admissible path whenever there is one, and the fastest of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.model.paths import Neighbours, path_lengths, path_tree


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
        """True if no single link can violate it: only the path's delay counts."""
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
    """Links between named nodes, with all distances kept per channel requirement. A graph never changes."""

    def __init__(self, nodes: Iterable[str], links: Iterable[Link]) -> None:
        self._names = tuple(dict.fromkeys(nodes))
        self._index = {name: i for i, name in enumerate(self._names)}
        self._links: dict[frozenset[str], Link] = {}
        for link in links:
            self._check(link)
            if link.key in self._links:
                raise ValueError(f"two links between {link.a!r} and {link.b!r}")
            self._links[link.key] = link
        self._adjacent: dict[QosRequirement, Neighbours] = {}
        self._distances: dict[QosRequirement, Floats] = {}

    @property
    def nodes(self) -> tuple[str, ...]:
        return self._names

    @property
    def links(self) -> tuple[Link, ...]:
        return tuple(self._links.values())

    def link(self, a: str, b: str) -> Link | None:
        return self._links.get(frozenset((a, b)))

    def distances(self, requirement: QosRequirement = NO_REQUIREMENT) -> Floats:
        """Delay between every pair of nodes over the links the requirement admits (read-only)."""
        key = requirement.link_part
        table = self._distances.get(key)
        if table is None:
            table = self._all_pairs(key)
            table.setflags(write=False)
            self._distances[key] = table
        return table

    def matrix(self, order: Sequence[str], requirement: QosRequirement = NO_REQUIREMENT) -> Floats:
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
        tree = path_tree(self._neighbours(requirement.link_part), self._index[a])
        target = self._index[b]
        limit = inf if requirement.max_latency_ms is None else requirement.max_latency_ms
        if not tree.reaches(target) or tree.length[target] > limit:
            return None
        names = tuple(self._names[i] for i in tree.nodes_to(target))
        used = [self._links[frozenset(pair)] for pair in pairwise(names)]
        return Path(
            nodes=names,
            latency_ms=tree.length[target],
            bandwidth=min(link.bandwidth for link in used),
            jitter_ms=max(link.jitter_ms for link in used),
            loss=max(link.loss for link in used),
        )

    def _check(self, link: Link) -> None:
        for end in (link.a, link.b):
            if end not in self._index:
                raise ValueError(f"link names unknown node {end!r}")
        if link.a == link.b:
            raise ValueError(f"link from {link.a!r} to itself")
        if not (0 <= link.latency_ms < inf and link.bandwidth >= 0 and link.jitter_ms >= 0 and 0 <= link.loss <= 1):
            raise ValueError(f"link {link.a!r} - {link.b!r}: figures out of range")

    def _admitted(self, requirement: QosRequirement) -> list[Link]:
        return [link for link in self._links.values() if requirement.admits(link)]

    def _all_pairs(self, requirement: QosRequirement) -> Floats:
        links = self._admitted(requirement)
        return path_lengths(
            len(self._names),
            starts=np.array([self._index[link.a] for link in links], dtype=np.int64),
            ends=np.array([self._index[link.b] for link in links], dtype=np.int64),
            lengths=np.array([link.latency_ms for link in links], dtype=np.float64),
            directed=False,
        )

    def _neighbours(self, requirement: QosRequirement) -> Neighbours:
        neighbours = self._adjacent.get(requirement)
        if neighbours is None:
            found: list[list[tuple[int, float]]] = [[] for _ in self._names]
            for link in self._admitted(requirement):
                a, b = self._index[link.a], self._index[link.b]
                found[a].append((b, link.latency_ms))
                found[b].append((a, link.latency_ms))
            neighbours = self._adjacent[requirement] = found
        return neighbours
