"""What every dialect has in common: from series to bytes and requests per second between two workloads.

A dialect is a set of questions and a pure function of their answers. Who a pod belongs to, which workloads exist and
which of them let users in is told by a ``Directory``, so a dialect never looks at a cluster itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ecotone.telemetry.families import Family, Figure, Reading
from ecotone.telemetry.refs import Place, Ref

USERS = "users@"


class Directory(Protocol):
    def pod(self, namespace: str, name: str) -> Place | None: ...

    def exists(self, workload: Ref) -> bool:
        """True if there is a workload of this name."""

    def lets_users_in(self, workload: Ref) -> bool:
        """True if it is an input proxy: what it sends is what users send."""

    def input_proxies(self) -> Sequence[Ref]: ...


Pair = tuple[Ref, Ref]
Pairs = dict[Pair, Figure]


@dataclass(slots=True)
class Rates:
    """Per caller and callee; None where this dialect cannot know (no bytes in traces)."""

    bytes: Pairs | None = field(default_factory=dict)
    """Bytes per second, both directions."""
    requests: Pairs | None = field(default_factory=dict)
    """Requests per second from the caller to the callee."""


Answered = Mapping[str, Sequence[Reading]]


class Dialect(Protocol):
    @property
    def name(self) -> str: ...

    def presence(self, namespace: str, directory: Directory) -> Sequence[Family]:
        """Families of which this namespace has series if it has any of this dialect."""

    def families(self, namespace: str, directory: Directory) -> dict[str, Family]: ...

    def rates(self, answered: Answered, directory: Directory) -> Rates: ...


def users_at(node: str) -> Ref:
    return Ref("", USERS + node)


def added(pairs: Pairs, pair: Pair, figure: Figure) -> None:
    """Adds to a pair; the sum is as old as its oldest part."""
    before = pairs.get(pair)
    if before is None:
        pairs[pair] = figure
    else:
        pairs[pair] = Figure(before.value + figure.value, min(before.at, figure.at))


def summed(*several: Pairs) -> Pairs:
    total: Pairs = {}
    for pairs in several:
        for pair, figure in pairs.items():
            added(total, pair, figure)
    return total


def collected(rows: Iterable[tuple[Pair | None, Reading]]) -> Pairs:
    """Sums readings per pair; those without a pair, or of a workload with itself, are left out."""
    pairs: Pairs = {}
    for pair, reading in rows:
        if pair is not None and pair[0] != pair[1]:
            added(pairs, pair, Figure(reading.value, reading.at))
    return pairs
