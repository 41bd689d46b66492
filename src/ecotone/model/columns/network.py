"""The network between nodes: what a round trip costs, and how sure we are.

Latencies come from four sources, in this order for a pair (n, m): measured from n, measured from m, the `NetworkMap` of
their domains, the distance of their coordinates. What none of them knows takes the largest latency known anywhere, so that
not having been measured is never an advantage. A network that only has domains is never expanded to pairs: its cost
vector over all nodes is one small product per domain and one gather.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeGuard

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.model.columns.nodes import NodeTable

DEFAULT_MAX_AGE = 300.0
# Clocks differ a little; what claims to be measured later than this is wrong.
FUTURE = 30.0
# An exbibyte a second, or a round trip of thirty million years.
LARGEST_FIGURE = 2.0**60
_PAIR_BY_PAIR = 256


def known(value: object) -> TypeGuard[float]:
    """True if a measurement means something: a number that is not negative and not beyond anything that is measured."""
    # The comparison is exact for integers of any length, which a conversion to float is not.
    if type(value) is not float and (not isinstance(value, (int, float)) or isinstance(value, bool)):
        return False
    return 0 <= value <= LARGEST_FIGURE


class NetworkMap(msgspec.Struct, frozen=True):
    """Round trips between the domains of one node label."""

    topology_key: str
    rtt: Mapping[str, Mapping[str, float]]


class Way(msgspec.Struct, frozen=True):
    """One pair's round trip, where it is known from, and by how many milliseconds it may be wrong, where somebody says so.

    `source`: `measured`, `map` (the domains of a NetworkMap), `predicted` (coordinates), or `unknown`: the farthest known
    stands in.
    """

    ms: float
    source: str
    error_ms: float | None = None


class Network:
    """Round trips from every node to a set of nodes, all sources and fallbacks applied. Immutable; answers are kept."""

    def __init__(
        self,
        nodes: NodeTable,
        *,
        maps: Sequence[NetworkMap] = (),
        now: float = 0.0,
        max_age: float = DEFAULT_MAX_AGE,
    ) -> None:
        self.nodes = nodes
        self._size = len(nodes)
        self._measured = _measured_rows(nodes, now=now, max_age=max_age)
        self._domains = [_Domains.of(nodes, each) for each in maps]
        self._places = _places(nodes)
        self._toward: dict[int, tuple[Floats, Mask]] = {}
        self._last_share: tuple[bytes, Floats] | None = None
        self.worst = self._largest_known()

    @property
    def anything_known(self) -> bool:
        return self.worst is not None

    def _largest_known(self) -> float | None:
        values = [value for row in self._measured.values() for value in row.values()]
        largest = max(values, default=None)
        for domains in self._domains:
            top = domains.largest()
            if top is not None and (largest is None or top > largest):
                largest = top
        if largest is None and self._places is not None:
            largest = self._farthest_predicted()
        return largest

    @cached_property
    def nearest(self) -> float | None:
        """The smallest round trip above 0 between two nodes of the cluster as far as known, None if there is none."""
        present = self.nodes.index
        values = [
            value for row in self._measured.values() for peer, value in row.items() if value > 0 and peer in present
        ]
        values += [value for domains in self._domains if (value := domains.smallest()) is not None]
        if not values and self.anything_known:
            # Predicted, or as far as the farthest known: rare enough to ask pair by pair.
            for row in range(self._size):
                column = np.delete(self.toward(row), row)
                values += column[column > 0].tolist()
        return min(values, default=None)

    def _farthest_predicted(self) -> float | None:
        farthest = -math.inf
        for row in range(self._size):
            column = self._predicted(row)
            column[row] = math.nan
            farthest = max(farthest, float(np.fmax.reduce(column, initial=-math.inf)))
        return None if math.isinf(farthest) else farthest

    def _predicted(self, target: int) -> Floats:
        """Vivaldi's prediction: the straight distance between the vectors plus both access links (heights)."""
        if self._places is None:
            return np.full(self._size, np.nan)
        apart = self._places[:, :-1] - self._places[target, :-1]
        heights: Floats = self._places[:, -1] + self._places[target, -1]
        column: Floats = np.sqrt((apart * apart).sum(axis=1)) + heights
        return column

    def toward(self, target: int) -> Floats:
        """Milliseconds from every node to this one; unknown pairs take the worst known, 0 where nothing is known."""
        return self._column(target)[0]

    def unknown_toward(self, target: int) -> Mask:
        """Where that figure is a stand-in for a missing measurement."""
        return self._column(target)[1]

    def _column(self, target: int) -> tuple[Floats, Mask]:
        kept = self._toward.get(target)
        if kept is None:
            column = self._raw_column(target)
            missing = np.isnan(column)
            column[missing] = self.worst if self.worst is not None else 0.0
            column.flags.writeable = missing.flags.writeable = False
            kept = self._toward[target] = (column, missing)
        return kept

    def _raw_column(self, target: int) -> Floats:
        column = self._predicted(target)
        for domains in reversed(self._domains):
            column = np.where(np.isnan(from_map := domains.toward(target)), column, from_map)
        name = self.nodes.names[target]
        index = self.nodes.index
        for peer, value in self._measured.get(target, {}).items():
            row = index.get(peer)
            if row is not None:
                column[row] = value
        for row, latencies in self._measured.items():
            value = latencies.get(name, math.nan)
            if not math.isnan(value):
                column[row] = value
        column[target] = 0.0
        return column

    def between(self, origin: int, target: int) -> float | None:
        """The round trip of one pair, or None if no source knows it."""
        column, missing = self._column(target)
        return None if missing[origin] else float(column[origin])

    def way(self, origin: int, target: int) -> Way:
        """The round trip of one pair as decisions take it, and what it is worth."""
        ms = float(self.toward(target)[origin])
        names = self.nodes.names
        told = (self._measured.get(origin, {}).get(names[target]), self._measured.get(target, {}).get(names[origin]))
        if origin == target or any(value is not None for value in told):
            return Way(ms, "measured")
        if any(not math.isnan(domains.toward(target)[origin]) for domains in self._domains):
            return Way(ms, "map")
        if self.unknown_toward(target)[origin]:
            return Way(ms, "unknown")
        ends = (self.nodes.nodes[row].coordinates for row in (origin, target))
        # Each end knows its own error as a share; the larger one is that of the pair.
        return Way(ms, "predicted", error_ms=ms * max(end.error for end in ends if end is not None))

    def weighted(self, targets: Rows, weights: Floats) -> Floats:
        """For every node n: the sum over targets m of weight(m) x rtt(n, m)."""
        if self._pure_domains:
            return self._weighted_by_domain(targets, weights)
        total = np.zeros(self._size)
        for target, weight in zip(targets.tolist(), weights.tolist(), strict=True):
            total += weight * self.toward(target)
        return total

    @cached_property
    def _pure_domains(self) -> bool:
        return len(self._domains) == 1 and not self._measured and self._places is None and self._domains[0].complete

    def _weighted_by_domain(self, targets: Rows, weights: Floats) -> Floats:
        domains = self._domains[0]
        codes = domains.codes[targets]
        per_domain = np.bincount(codes, weights, minlength=len(domains.rtt))
        # No target in a domain: its column must not count, though a pair in it may be unknown (NaN).
        by_domain = np.where(per_domain > 0, domains.rtt * per_domain, 0.0).sum(axis=1)
        total: Floats = by_domain[domains.codes]
        # A node is at no distance from itself, though its domain may be: those few rows are summed pair by pair.
        if len(targets) <= _PAIR_BY_PAIR:
            pairs = domains.rtt[codes[:, np.newaxis], codes] * weights
            np.fill_diagonal(pairs, 0.0)
            total[targets] = pairs.sum(axis=1)
        else:
            total[targets] -= domains.rtt[codes, codes] * weights
        return total

    def unknown_share(self, targets: Rows) -> Floats:
        """For every node: the share of these targets whose latency is a stand-in."""
        if self._pure_domains or not len(targets):
            return np.zeros(self._size)
        asked = targets.tobytes()
        if self._last_share is None or self._last_share[0] != asked:
            missing = np.zeros(self._size)
            for target in targets.tolist():
                missing += self.unknown_toward(target)
            self._last_share = (asked, missing / len(targets))
        return self._last_share[1]


def _places(nodes: NodeTable) -> Floats | None:
    """Rows of (vector, height); NaN where a node has none that makes sense, or one of another dimension than the most."""
    dimensions = [len(node.coordinates.vector) for node in nodes.nodes if node.coordinates is not None]
    if not dimensions:
        return None
    width = max(dimensions, key=lambda each: (dimensions.count(each), each))
    places = np.full((len(nodes), width + 1), np.nan)
    for row, node in enumerate(nodes.nodes):
        if node.coordinates is not None and len(node.coordinates.vector) == width:
            place = (*node.coordinates.vector, node.coordinates.height)
            if all(known(abs(each)) for each in place) and node.coordinates.height >= 0:
                places[row] = place
    return places


def _measured_rows(nodes: NodeTable, *, now: float, max_age: float) -> dict[int, dict[str, float]]:
    rows: dict[int, dict[str, float]] = {}
    for row, node in enumerate(nodes.nodes):
        if not node.latencies or is_stale(node.measured_at, now=now, max_age=max_age):
            continue
        usable = {peer: float(value) for peer, value in node.latencies.items() if known(value) and peer != node.name}
        if usable:
            rows[row] = usable
    return rows


def is_stale(at: float | None, *, now: float, max_age: float) -> bool:
    """True if a measurement is too old to be used, or claims to come from the future."""
    return at is not None and not -FUTURE <= now - at <= max_age


class _Domains(msgspec.Struct, frozen=True):
    """One NetworkMap laid over the nodes: a domain code per node (the last code: no domain) and the square of round trips."""

    codes: Rows
    rtt: Floats
    complete: bool

    @staticmethod
    def of(nodes: NodeTable, given: NetworkMap) -> _Domains:
        codes, values = nodes.labels(given.topology_key)
        size = len(values) + 1
        rtt = np.full((size, size), np.nan)
        for here, origin in enumerate(values):
            for there, target in enumerate(values):
                forward = given.rtt.get(origin, {}).get(target)
                backward = given.rtt.get(target, {}).get(origin)
                value = next((each for each in (forward, backward) if known(each)), None)
                if value is not None:
                    rtt[here, there] = float(value)
        used = np.unique(codes)
        complete = bool(len(used)) and used[0] >= 0 and not np.isnan(rtt[np.ix_(used, used)]).any()
        return _Domains(np.where(codes < 0, size - 1, codes).astype(np.intp), rtt, complete)

    def largest(self) -> float | None:
        return None if np.isnan(self.rtt).all() else float(np.nanmax(self.rtt))

    def smallest(self) -> float | None:
        """Above 0."""
        apart = self.rtt[self.rtt > 0]
        return float(apart.min()) if len(apart) else None

    def toward(self, target: int) -> Floats:
        return self.rtt[:, self.codes[target]][self.codes]
