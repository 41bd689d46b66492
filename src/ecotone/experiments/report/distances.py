"""Round trips between nodes as the scenario's network gives them, in milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from ecotone.experiments.report.numbers import ms
from ecotone.sim.scenario.schema import NetworkSpec, NodeSpec

_MOST_PAIRS = 20_000


@dataclass(frozen=True, slots=True)
class Range:
    """Of several pairs' round trips."""

    low: float
    high: float

    def __str__(self) -> str:
        return ms(self.low) if self.low == self.high else f"{ms(self.low, unit=False)}–{ms(self.high)}"


class Distances:
    def __init__(self, network: NetworkSpec) -> None:
        self._default = 1000.0 * network.default.rtt
        self._direct = {frozenset(ends): 1000.0 * link.rtt for ends, link in network.links}
        self._graph: nx.Graph | None = None
        if network.shortest_path:
            self._graph = nx.Graph()
            self._graph.add_weighted_edges_from(
                (*sorted(ends), rtt) for ends, rtt in self._direct.items() if len(ends) == 2
            )
        self._lengths: dict[str, dict[str, float]] = {}

    def between(self, one: str, other: str) -> float:
        if one == other:
            return 0.0
        if self._graph is None:
            return self._direct.get(frozenset((one, other)), self._default)
        if one not in self._lengths:
            known = one in self._graph
            self._lengths[one] = nx.single_source_dijkstra_path_length(self._graph, one) if known else {}
        return self._lengths[one].get(other, self._default)

    def range(self, some: Sequence[NodeSpec], others: Sequence[NodeSpec]) -> Range | None:
        """Over all pairs of different nodes; of a very large cluster, over the first ones."""
        pairs = [(one.name, other.name) for one in some[:300] for other in others[:300] if one.name != other.name]
        values = [self.between(*ends) for ends in pairs[:_MOST_PAIRS]]
        return Range(min(values), max(values)) if values else None

    def explicit(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self._direct
