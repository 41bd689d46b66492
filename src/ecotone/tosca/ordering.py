"""The index of a service: how far it is from where requests enter.

Services nearer to the users are scheduled first, so that the application grows from its entry points. The index is the
longest distance from an entry point over the channels. Call graphs may contain circles; each is broken at its channel
of lowest priority, where it hurts least: channels are taken from the highest priority down, and one that would close a
circle of channels already taken is left out. Ties go to the channel nearer to an entry point, then to the order of the
template, so the answer never depends on chance.

An order of the services is kept while channels are added (Pearce and Kelly's algorithm): adding one only touches the
services between its two ends, so thousands of channels cost milliseconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Order:
    """The index of every service, and the pairs left out to get there."""

    index: dict[str, int]
    broken: tuple[tuple[str, str], ...]


def order(names: Sequence[str], pairs: dict[tuple[str, str], int]) -> Order:
    """Index services by longest distance; `pairs` maps (source, target) to the summed priority of its channels."""
    position = {name: i for i, name in enumerate(names)}
    following: list[list[int]] = [[] for _ in names]
    for source, target in pairs:
        if source != target:
            following[position[source]].append(position[target])
    depth = _depths(following)
    ranked = sorted(
        ((-weight, depth[position[s]], position[s], position[t]) for (s, t), weight in pairs.items() if s != t),
    )
    dag = _Acyclic(len(names))
    broken = [(names[s], names[t]) for _, _, s, t in ranked if not dag.add(s, t)]
    distance = dag.longest()
    return Order({name: distance[i] for i, name in enumerate(names)}, tuple(broken))


def _depths(following: list[list[int]]) -> list[int]:
    """Breadth-first distance from the entry points; where a circle has none, from its first service."""
    count = len(following)
    called = [False] * count
    for targets in following:
        for target in targets:
            called[target] = True
    depth = [-1] * count
    queue: deque[int] = deque()
    starts: Iterable[int] = (i for i in range(count) if not called[i])
    for start in [*starts, *range(count)]:
        if depth[start] >= 0:
            continue
        depth[start] = 0
        queue.append(start)
        while queue:
            node = queue.popleft()
            for target in following[node]:
                if depth[target] < 0:
                    depth[target] = depth[node] + 1
                    queue.append(target)
    return depth


class _Acyclic:
    """A graph that refuses the edge that would close a circle, keeping a topological order as it grows."""

    def __init__(self, count: int) -> None:
        self._after: list[list[int]] = [[] for _ in range(count)]
        self._before: list[list[int]] = [[] for _ in range(count)]
        self._rank = list(range(count))

    def add(self, source: int, target: int) -> bool:
        """Add an edge; False when it would close a circle."""
        low, high = self._rank[target], self._rank[source]
        if low <= high:
            ahead = self._reach(target, self._after, bound=high, stop=source)
            if ahead is None:
                return False
            behind = self._reach(source, self._before, bound=low, stop=None) or []
            self._reorder(behind, ahead)
        self._after[source].append(target)
        self._before[target].append(source)
        return True

    def _reach(self, start: int, edges: list[list[int]], *, bound: int, stop: int | None) -> list[int] | None:
        """What can be reached within the bound of ranks; None when `stop` is among it."""
        forward = edges is self._after
        seen = {start}
        todo = [start]
        while todo:
            for other in edges[todo.pop()]:
                if other == stop:
                    return None
                within = self._rank[other] < bound if forward else self._rank[other] > bound
                if within and other not in seen:
                    seen.add(other)
                    todo.append(other)
        return sorted(seen, key=self._rank.__getitem__)

    def _reorder(self, behind: list[int], ahead: list[int]) -> None:
        ranks = sorted(self._rank[node] for node in (*behind, *ahead))
        for node, rank in zip((*behind, *ahead), ranks, strict=True):
            self._rank[node] = rank

    def longest(self) -> list[int]:
        """The longest distance of every node from one that nothing leads to."""
        distance = [0] * len(self._rank)
        for node in sorted(range(len(self._rank)), key=self._rank.__getitem__):
            for target in self._after[node]:
                distance[target] = max(distance[target], distance[node] + 1)
        return distance
