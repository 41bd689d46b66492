"""Round trips between nodes as the scenario's network gives them, in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecotone.drawing.numbers import ms
from ecotone.model.paths import PathTree, path_tree
from ecotone.sim.scenario.schema import LinkChange, NetworkSpec, NodeSpec

_MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Range:
    """Of several pairs' round trips."""

    low: float
    high: float

    def __str__(self) -> str:
        return ms(self.low) if self.low == self.high else f"{ms(self.low, unit=False)}–{ms(self.high)}"


class Distances:
    """`changes` are events that have happened to links."""

    def __init__(self, network: NetworkSpec, changes: Sequence[LinkChange] = ()) -> None:
        self._default = 1000.0 * network.default.rtt
        self._direct = {frozenset(ends): 1000.0 * link.rtt for ends, link in network.links}
        for change in changes:
            if "rtt" in change.qualities:
                self._direct[frozenset(change.between)] = 1000.0 * change.qualities["rtt"]
        self._trees: dict[str, PathTree] = {}
        self._index: dict[str, int] = {}
        self._neighbours: list[list[tuple[int, float]]] | None = None
        if network.shortest_path:
            names = sorted({name for ends in self._direct for name in ends})
            self._index = {name: index for index, name in enumerate(names)}
            self._neighbours = [[] for _ in names]
            for one, other in (sorted(ends) for ends in self._direct if len(ends) == 2):
                length = self._direct[frozenset((one, other))]
                self._neighbours[self._index[one]].append((self._index[other], length))
                self._neighbours[self._index[other]].append((self._index[one], length))

    def between(self, one: str, other: str) -> float:
        if one == other:
            return 0.0
        if self._neighbours is None:
            return self._direct.get(frozenset((one, other)), self._default)
        if one not in self._index or other not in self._index:
            return self._default
        if one not in self._trees:
            self._trees[one] = path_tree(self._neighbours, self._index[one])
        tree, target = self._trees[one], self._index[other]
        return tree.length[target] if tree.reaches(target) else self._default

    def range(self, some: Sequence[NodeSpec], others: Sequence[NodeSpec]) -> Range | None:
        """Over all pairs of different nodes; of a very large cluster, over the first ones."""
        pairs = [(one.name, other.name) for one in some[:300] for other in others[:300] if one.name != other.name]
        values = [self.between(*ends) for ends in pairs[:_MOST_PAIRS]]
        return Range(min(values), max(values)) if values else None

    def explicit(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self._direct
