"""The network between nodes: round trips, jitter, loss, bandwidth, and shortest paths.

Most scenarios have plain links, for which a message costs one look-up in a table of one-way delays; `plain` says so and
the flow of requests uses it directly. Otherwise a message travels hop by hop: at each link with limited bandwidth it
waits, first in, first out per direction, for the messages before it. A message takes the latency that its way has when it
sets out: a link that changes later does not change it.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf, sqrt
from random import Random

from ecotone.model.paths import path_tree
from ecotone.sim.kernel import Event, Kernel
from ecotone.sim.scenario.schema import Link

RETRANSMISSION = 0.2  # least delay of a lost message, seconds

Hop = tuple[tuple[int, int], float, float]  # direction, one-way delay so far, bandwidth


class Path:
    """A way between two nodes, as one link would look, and the hops whose bandwidth is limited."""

    __slots__ = ("hops", "jitter", "loss", "rtt")

    def __init__(self, rtt: float, jitter: float, loss: float, hops: tuple[Hop, ...]) -> None:
        self.rtt = rtt
        self.jitter = jitter
        self.loss = loss
        self.hops = hops


class Network:
    """Ways between nodes, which are numbers here."""

    def __init__(
        self,
        kernel: Kernel,
        *,
        nodes: int,
        default: Link,
        links: dict[tuple[int, int], Link],
        shortest_path: bool,
        draws: Random,
    ) -> None:
        self._kernel = kernel
        self._nodes = nodes
        self._default = default
        self._links = {(min(pair), max(pair)): link for pair, link in links.items()}
        self._shortest = shortest_path
        self._draws = draws
        self._free: dict[tuple[int, int], float] = {}
        self.version = 0
        self.plain = True
        self.delay: list[list[float]] = []  # one way, seconds
        self._paths: list[list[Path]] = []
        self._neighbours: list[list[tuple[int, float]]] = []
        self._rebuild()

    def rtt(self, a: int, b: int) -> float:
        return self._paths[a][b].rtt

    def loss(self, a: int, b: int) -> float:
        return self._paths[a][b].loss

    def bandwidth(self, a: int, b: int) -> float:
        return min((bandwidth for _, _, bandwidth in self._paths[a][b].hops), default=inf)

    def change(self, a: int, b: int, **qualities: float) -> None:
        """Give a link new qualities from now on."""
        pair = (min(a, b), max(a, b))
        self._links[pair] = replace(self._links.get(pair, self._default), **qualities)
        self._rebuild()

    def send(self, a: int, b: int, size: float, event: Event) -> None:
        """Deliver a message of `size` bytes; the event happens when its last byte is there."""
        if a == b:
            self._kernel.plan(event, self._kernel.now)
            return
        path = self._paths[a][b]
        delay = self._one_way(path)
        if not path.hops or size <= 0.0:
            self._kernel.plan(event, self._kernel.now + delay)
            return
        self._hop((path, 0, delay, size, event))

    def round_trip(self, a: int, b: int) -> float:
        """The time of two small messages, there and back: a connection set-up, or a probe."""
        if a == b:
            return 0.0
        return self._one_way(self._paths[a][b]) + self._one_way(self._paths[b][a])

    def probe(self, a: int, b: int) -> float | None:
        """What one ping would measure: a round trip without retransmission, or nothing when it is lost."""
        if a == b:
            return 0.0
        path, draws = self._paths[a][b], self._draws
        if path.loss > 0.0 and draws.random() < 1.0 - (1.0 - path.loss) ** 2:
            return None
        if path.jitter == 0.0:
            return path.rtt
        one_way = path.rtt / 2
        there = max(0.0, one_way + draws.gauss(0.0, path.jitter))
        return there + max(0.0, one_way + draws.gauss(0.0, path.jitter))

    def _one_way(self, path: Path) -> float:
        delay = path.rtt / 2
        if path.jitter > 0.0:
            delay = max(0.0, delay + self._draws.gauss(0.0, path.jitter))
        if path.loss > 0.0:
            while self._draws.random() < path.loss:
                delay += max(RETRANSMISSION, 2 * path.rtt)
        return delay

    def _hop(self, state: tuple[Path, int, float, float, Event]) -> None:
        """Queue at the limited link `index` of the path; go on to the next one when the last byte is through."""
        path, index, delay, size, event = state
        direction, before, bandwidth = path.hops[index]
        now = self._kernel.now
        done = max(now, self._free.get(direction, 0.0)) + size / bandwidth
        self._free[direction] = done
        waited = done - now
        if index + 1 < len(path.hops):
            between = path.hops[index + 1][1] - before
            self._kernel.at(done + between, self._hop, (path, index + 1, max(0.0, delay - between), size, event))
        else:
            self._kernel.plan(event, now + waited + delay)

    def _rebuild(self) -> None:
        self.version += 1
        count = self._nodes
        if self._shortest:
            self._neighbours = [[] for _ in range(count)]
            for (a, b), link in sorted(self._links.items()):
                self._neighbours[a].append((b, link.rtt))
                self._neighbours[b].append((a, link.rtt))
        self._paths = [self._ways_from(a) if self._shortest else self._direct_from(a) for a in range(count)]
        self.delay = [[path.rtt / 2 for path in row] for row in self._paths]
        self.plain = all(
            not path.hops and path.jitter == 0.0 and path.loss == 0.0 for row in self._paths for path in row
        )

    def _direct_from(self, a: int) -> list[Path]:
        return [
            self._as_path((a, b), self._links.get((min(a, b), max(a, b)), self._default)) for b in range(self._nodes)
        ]

    def _as_path(self, direction: tuple[int, int], link: Link) -> Path:
        if direction[0] == direction[1]:
            return Path(0.0, 0.0, 0.0, ())
        hops = ((direction, 0.0, link.bandwidth),) if link.bandwidth < inf else ()
        return Path(link.rtt, link.jitter, link.loss, hops)

    def _ways_from(self, source: int) -> list[Path]:
        """Shortest paths over the links given, by round trip; the default link where there is none."""
        tree = path_tree(self._neighbours, source)
        paths = []
        for target in range(self._nodes):
            if not tree.reaches(target):
                paths.append(self._as_path((source, target), self._default))
                continue
            hops = pairwise(tree.nodes_to(target))
            paths.append(self._joined([((a, b), self._links[min(a, b), max(a, b)]) for a, b in hops]))
        return paths

    def _joined(self, way: list[tuple[tuple[int, int], Link]]) -> Path:
        rtt, variance, kept, so_far = 0.0, 0.0, 1.0, 0.0
        hops: list[Hop] = []
        for direction, link in way:
            rtt += link.rtt
            variance += link.jitter**2
            kept *= 1.0 - link.loss
            if link.bandwidth < inf:
                hops.append((direction, so_far, link.bandwidth))
            so_far += link.rtt / 2
        return Path(rtt, sqrt(variance), 1.0 - kept, tuple(hops))
