"""Network coordinates: every node a place, so that n measurements a round predict n² round trips.

This is Vivaldi with height vectors (Dabek et al., SIGCOMM 2004) with the refinements that Serf runs in production: each
node and each of its peers are the ends of a spring whose length is the round trip between them, and whoever is less sure
of its place gives way more. The vector is the place in the core of the network, the height the way from there to the
node (its access link): the predicted round trip is the distance of the vectors plus both heights. The error is a moving
average of the relative error of the node's own predictions, and is handed out beside the place as its error bar.

Two things are ours. A violated triangle (a detour that is faster than the direct way) cannot be drawn in any space, and a
few such pairs bend the whole picture if every spring pulls by its length. Once a node has settled, an observation counts
the less the farther its relative error lies beyond what is usual for this node, and the longer its round trip is
compared with the node's nearer peers: a millisecond matters to a neighbour and not across an ocean. And the node's mean
residue, which Serf keeps as a separate correction, is its median here, folded into the height that is handed out, since
prediction adds both ends' heights. A median over the last few round trips of each peer keeps a single delayed packet
from pushing a node away.
"""

from __future__ import annotations

import math
import random
from collections import deque
from dataclasses import dataclass
from statistics import median

DIMENSIONS = 8
ERROR_LIMIT = 1.5
CAUTION = 0.25
"""How much of an error a single observation corrects, in place and in confidence."""
SETTLED = 160
"""Observations after which a node knows its region, and doubts what does not fit."""
DOUBT = 1.5
"""Times the usual relative error at which an observation counts a quarter."""
REMEMBERED = 32
LEAST_HEIGHT = 0.01
FILTER = 3
LONGEST = 60_000.0
"""Milliseconds; a longer round trip is not believed."""
_TINY = 1e-6
_LEAST_MISS = 0.02


@dataclass(frozen=True, slots=True)
class Place:
    """A node's coordinates in milliseconds; the error is a share (0.1 means 10 %)."""

    vector: tuple[float, ...]
    height: float
    error: float

    @property
    def sane(self) -> bool:
        """True if all of it is finite and in range: what comes from a peer is checked before use."""
        numbers = (*self.vector, self.height, self.error)
        return (
            bool(self.vector)
            and all(math.isfinite(each) and abs(each) <= LONGEST for each in numbers)
            and (self.height >= 0 and self.error >= 0)
        )


def predicted(one: Place, other: Place) -> float:
    """The round trip between two places in milliseconds."""
    return math.dist(one.vector, other.vector) + (one.height + other.height)


class Coordinates:
    """One node's place, corrected by every round trip it measures."""

    def __init__(self, name: str, *, dimensions: int = DIMENSIONS) -> None:
        self._vector = [0.0] * dimensions
        self._height = LEAST_HEIGHT
        self._error = ERROR_LIMIT
        self._observed = 0
        self._residues: deque[float] = deque(maxlen=REMEMBERED)
        self._misses: deque[float] = deque(maxlen=REMEMBERED)
        self._rtts: deque[float] = deque(maxlen=REMEMBERED)
        self._recent: dict[str, deque[float]] = {}
        # Two nodes at the same place must part in some direction; the name makes it repeatable.
        self._random = random.Random(name)
        self._settle()

    @property
    def place(self) -> Place:
        """What is handed out."""
        return self._place

    def _settle(self) -> None:
        self._place = Place(tuple(self._vector), max(0.0, self._height + self._correction()), self._error)

    def observe(self, peer: str, place: Place, milliseconds: float) -> bool:
        """Moves according to one round trip to a peer at that place; False if the observation makes no sense."""
        if not (math.isfinite(milliseconds) and 0 < milliseconds <= LONGEST):
            return False
        if not place.sane or len(place.vector) != len(self._vector):
            return False
        recent = self._recent.setdefault(peer, deque(maxlen=FILTER))
        recent.append(milliseconds)
        self._spring(place, median(recent))
        self._settle()
        return True

    def forget(self, peer: str) -> None:
        self._recent.pop(peer, None)

    def _spring(self, place: Place, rtt: float) -> None:
        expected = predicted(self.place, place)
        wrong = (rtt - expected) / rtt
        self._observed += 1
        self._misses.append(abs(wrong))
        self._rtts.append(rtt)
        # How much this end gives way: all of it if the peer is certain, half if both are as unsure.
        share = self._error / max(self._error + place.error, _TINY) * self._trust(wrong, rtt)
        self._error = min(ERROR_LIMIT, CAUTION * share * abs(wrong) + self._error * (1 - CAUTION * share))
        away, apart = self._direction(place.vector)
        raw = apart + self._height + place.height
        push = CAUTION * share * (rtt - expected)
        self._vector = [own + push * each for own, each in zip(self._vector, away, strict=True)]
        if apart > _TINY:
            self._height = max(LEAST_HEIGHT, self._height + (self._height + place.height) * push / apart)
        self._residues.append(rtt - raw)

    def _trust(self, wrong: float, rtt: float) -> float:
        """1 for an observation that fits, falling to 0 for one far beyond the usual error."""
        if self._observed <= SETTLED:
            return 1.0
        usual = DOUBT * max(_LEAST_MISS, median(self._misses))
        near = sorted(self._rtts)[len(self._rtts) // 4]
        return min(1.0, near / rtt) / (1 + (wrong / usual) ** 2) ** 2

    def _correction(self) -> float:
        if not self._residues:
            return 0.0
        if self._observed <= SETTLED:
            return sum(self._residues) / (2 * REMEMBERED)
        return median(self._residues) / 2

    def _direction(self, other: tuple[float, ...]) -> tuple[list[float], float]:
        """The unit vector that leads away from the peer, and how far away it is."""
        apart = math.dist(self._vector, other)
        if apart > _TINY:
            return [(own - each) / apart for own, each in zip(self._vector, other, strict=True)], apart
        drawn = [self._random.gauss(0, 1) for _ in self._vector]
        length = math.hypot(*drawn) or 1.0
        return [each / length for each in drawn], 0.0
