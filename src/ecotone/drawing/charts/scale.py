"""From values to places along an axis, and the round values worth a label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor, log10


@dataclass(frozen=True, slots=True)
class Scale:
    """Places are shares of the axis, 0 at `low` and 1 at `high`."""

    low: float
    high: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        if self.logarithmic:
            place = log10(max(value, self.low) / self.low) / log10(self.high / self.low)
        else:
            place = (value - self.low) / (self.high - self.low)
        return min(1.0, max(0.0, place))

    def ticks(self, about: int = 5) -> list[float]:
        if self.logarithmic:
            return self._decades()
        step = round_step((self.high - self.low) / about)
        first = ceil(self.low / step - 1e-9)
        last = floor(self.high / step + 1e-9)
        return [place * step for place in range(first, last + 1)]

    def _decades(self) -> list[float]:
        places = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        factors = (1, 2, 5) if len(places) <= 3 else (1,)
        values = (factor * 10.0**place for place in places for factor in factors)
        return [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]


def round_step(rough: float) -> float:
    """The next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** floor(log10(rough))
    return float(next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * (1 - 1e-9)))


def from_zero(values: Iterable[float], *, least: float = 1.0) -> Scale:
    """From nothing to a round value above everything; logarithmic if a few values would flatten all others."""
    known = sorted(value for value in values if value >= 0.0)
    top = max(known[-1] if known else 0.0, least)
    positive = [value for value in known if value > 0.0]
    if positive and top > 40.0 * positive[len(positive) // 2]:
        return Scale(
            10.0 ** floor(log10(max(positive[0], top / 1e6))), 10.0 ** ceil(log10(top) - 1e-9), logarithmic=True
        )
    step = round_step(top / 5)
    return Scale(0.0, step * ceil(top / step - 1e-9))


def reaching(values: Iterable[float], *, ends: Iterable[float]) -> Scale:
    """For all values, and for the ends of intervals as long as they do not flatten the values: few trials make intervals
    that reach far beyond everything measured, and those are cut off at the top."""
    known = list(values)
    most = 2.0 * max(known, default=1.0)
    return from_zero([*known, *(min(end, most) for end in ends)])


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A run's time in the unit that gives round labels."""

    scale: Scale

    def labels(self, about: int = 6) -> list[tuple[float, str]]:
        length = self.scale.high - self.scale.low
        unit, name = (1.0, "s") if length <= 180.0 else (60.0, "min") if length <= 10_800.0 else (3600.0, "h")
        ticks = Scale(self.scale.low / unit, self.scale.high / unit).ticks(about)
        return [
            (tick * unit, f"{tick:g} {name}" if place == len(ticks) - 1 else f"{tick:g}")
            for place, tick in enumerate(ticks)
        ]
