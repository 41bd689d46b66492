"""A layered layout: callers left of those they call, few crossings, the same picture for the same graph.

Layers are longest distances from where requests enter; an edge over several layers passes through a place of its own in each
of them, so that it does not run behind the boxes there. Within a layer, places follow the mean place of the neighbours, swept
to and fro a few times; every tie is broken by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx

_SWEEPS = 8

Edge = tuple[str, str]
Place = str | tuple[str, str, int]  # a node, or where an edge passes through a layer


@dataclass(frozen=True, slots=True)
class Layout:
    """Places as (layer, row); rows are not whole numbers, as layers are centred against each other."""

    places: dict[str, tuple[int, float]]
    ways: dict[Edge, list[tuple[int, float]]]
    layers: int
    rows: float


def layered(nodes: Sequence[str], edges: Iterable[Edge]) -> Layout:
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(sorted(nodes))
    graph.add_edges_from(sorted({edge for edge in edges if edge[0] != edge[1]}))
    level = _levels(graph)
    between = {edge: _passing(edge, level) for edge in graph.edges}
    columns: list[list[Place]] = [[] for _ in range(max(level.values(), default=-1) + 1)]
    for node in graph.nodes:
        columns[level[node]].append(node)
    neighbours: dict[Place, set[Place]] = {}
    for passing in between.values():
        for one, other in pairwise(passing):
            neighbours.setdefault(one, set()).add(other)
            neighbours.setdefault(other, set()).add(one)
        for place in passing[1:-1]:
            assert isinstance(place, tuple)
            columns[place[2]].append(place)
    _order(columns, neighbours)
    tallest = max((len(column) for column in columns), default=0)
    at: dict[Place, tuple[int, float]] = {
        place: (number, row + (tallest - len(column)) / 2.0)
        for number, column in enumerate(columns)
        for row, place in enumerate(column)
    }
    places = {node: at[node] for node in graph.nodes}
    ways = {edge: [at[place] for place in passing] for edge, passing in between.items()}
    return Layout(places, ways, layers=len(columns), rows=float(tallest))


def _levels(graph: nx.DiGraph) -> dict[str, int]:
    """Longest distance from a node nobody calls; the members of a cycle share a level."""
    condensed = nx.condensation(graph)
    level: dict[int, int] = {}
    for group in nx.topological_sort(condensed):
        level[group] = max((level[before] + 1 for before in condensed.predecessors(group)), default=0)
    return {node: level[group] for node, group in condensed.graph["mapping"].items()}


def _passing(edge: Edge, level: dict[str, int]) -> list[Place]:
    source, target = edge
    between: list[Place] = [(source, target, each) for each in range(level[source] + 1, level[target])]
    return [source, *between, target]


def _order(columns: list[list[Place]], neighbours: dict[Place, set[Place]]) -> None:
    for column in columns:
        column.sort(key=_name)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        numbers = range(1, len(columns)) if forward else range(len(columns) - 2, -1, -1)
        for number in numbers:
            beside = columns[number - 1] if forward else columns[number + 1]
            middle = (len(beside) - 1) / 2.0
            row = {place: position - middle for position, place in enumerate(beside)}
            current = {place: position for position, place in enumerate(columns[number])}
            weight = {
                place: _mean([row[each] for each in neighbours.get(place, ()) if each in row]) for place in current
            }
            centre = (len(current) - 1) / 2.0
            own = {place: current[place] - centre if found is None else found for place, found in weight.items()}
            columns[number].sort(key=_by(own))


def _by(height: Mapping[Place, float]) -> Callable[[Place], tuple[float, tuple[str, str]]]:
    return lambda place: (height[place], _name(place))


def _mean(values: list[float]) -> float | None:
    return sum(sorted(values)) / len(values) if values else None


def _name(place: Place) -> tuple[str, str]:
    return (place, "") if isinstance(place, str) else (place[1], place[0])
