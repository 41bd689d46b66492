"""A family of series as questions to a Prometheus, and the answers put together.

A value alone does not say whether it may be believed. Each family therefore asks, for the same groups of series and the
same moment: the value over the window, how many samples stand behind it, when the oldest of the newest samples was
taken, and how much sparser the window's first half was sampled than its second. A group that no longer reports has no newest
sample, so what was once measured is not repeated as if it were new. A rate over a window whose first or last part nobody
sampled (Prometheus was down) would be too low by that part: samples must reach close to the window's end, and its first
half must hold as many as its second, reckoned from the last sample before the window.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import msgspec

from ecotone.telemetry.prometheus import Failure, Source
from ecotone.telemetry.samples import Sample
from ecotone.telemetry.window import SCRAPES, promql_duration

LATE_SCRAPES = 1.5
"""How many of the slowest scrapes that a window allows may be missing at its end."""
SPARSE = 1.2
"""How many times as far apart samples may be in a window's first half as in its second: rates are then at most 10 % too low."""


class Kind(Enum):
    RATE = "rate"
    """A counter: its increase per second, summed over the group, series that ended within the window included."""
    AVERAGE = "average"
    """A gauge: its average over the window, summed over the group's series that are still there."""


@dataclass(frozen=True, slots=True)
class Family:
    metric: str
    by: tuple[str, ...]
    selectors: tuple[str, ...] = ("",)
    """Label matchers; series that match any of them belong to the family, once."""
    kind: Kind = Kind.RATE
    signed: bool = False
    """True if a value below zero makes sense."""
    together: tuple[str, ...] = ()
    """Labels of `by` by which series come and go together: whether they may be believed is asked once for all of them."""

    def value(self, window: float) -> str:
        over = promql_duration(window)
        if self.kind is Kind.RATE:
            return self._grouped("sum", [f"rate({each}[{over}])" for each in self._series()], by=self.by)
        parts = [f"(avg_over_time({each}[{over}]) and {each})" for each in self._series()]
        return self._grouped("sum", parts, by=self.by)

    def count(self, window: float) -> str:
        over = promql_duration(window)
        return self._grouped("max", [f"count_over_time({each}[{over}])" for each in self._series()])

    def newest(self) -> str:
        return self._grouped("min", [f"timestamp({each})" for each in self._series()])

    def sparser(self, window: float) -> str:
        """How many times as far apart samples are in the window's first half as in its second; nothing where it is not filled.

        Zero if the group's series were there when the window began and ended in it, replaced by others of the group.
        """
        return self._grouped("min", [_sparser(each, window) for each in self._series()])

    def _series(self) -> list[str]:
        return [f"{self.metric}{{{each}}}" if each else self.metric for each in self.selectors]

    def _grouped(self, aggregation: str, parts: list[str], *, by: tuple[str, ...] | None = None) -> str:
        return f"{aggregation} by ({','.join(by or self.judged_by)}) ({' or '.join(parts)})"

    @property
    def judged_by(self) -> tuple[str, ...]:
        return self.together or self.by


class Figure(msgspec.Struct, frozen=True):
    """A value and the time of the sample behind it."""

    value: float
    at: float


class Reading(msgspec.Struct, frozen=True):
    """A value that may be written: its series fills the window, and its sample has a time."""

    labels: Mapping[str, str]
    value: float
    at: float


@dataclass(frozen=True, slots=True)
class Readings:
    values: list[Reading]
    young: int = 0
    """Groups whose series do not fill the window yet."""
    samples: float | None = None
    """The most samples that a group filling the window has in it; None if no group fills it up to now."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What the four questions of a family were answered with."""

    values: Sequence[Sample]
    counts: Sequence[Sample]
    newest: Sequence[Sample]
    sparser: Sequence[Sample]


def combine(family: Family, answers: Answers, *, window: float, at: float) -> Readings:
    """The values that may be believed. Pure."""
    slack = LATE_SCRAPES * window / SCRAPES
    judged_by = family.judged_by
    counts = {_key(judged_by, each): each.value for each in answers.counts}
    newest = {_key(judged_by, each): min(each.value, at) for each in answers.newest}
    filled = {_key(judged_by, each) for each in answers.sparser if each.value <= SPARSE}
    there = filled & counts.keys() & newest.keys()
    filling = [counts[key] for key in there if _goes_on(counts[key], at - newest[key], window)]
    readings, young = [], 0
    for sample in answers.values:
        key = _key(judged_by, sample)
        taken = newest.get(key)
        if taken is None or (sample.value < 0 and not family.signed):
            continue
        if key not in filled or counts.get(key, 0.0) < SCRAPES or at - taken > slack:
            young += 1
            continue
        readings.append(Reading(sample.labels, sample.value, taken))
    return Readings(readings, young=young, samples=max(filling, default=None))


def _goes_on(count: float, age: float, window: float) -> bool:
    """False if the newest sample is so old that scrapes have stopped: how many there are does not say how often they come."""
    return age * count <= 2 * (window - age)


def _sparser(series: str, window: float) -> str:
    whole, half = promql_duration(window), promql_duration(window / 2)
    there = f"{series} offset {whole}"
    first, second = f"count_over_time({series}[{half}] offset {half})", f"count_over_time({series}[{half}])"
    middle = f"timestamp({series} offset {half})"
    apart = f"({middle} - timestamp({there})) / {first} / ((timestamp({series}) - {middle}) / {second})"
    return f"({apart} or 0 * {first} and {there})"


def _key(judged_by: tuple[str, ...], sample: Sample) -> tuple[str, ...]:
    labels = sample.labels
    return tuple([labels.get(label, "") for label in judged_by])


async def read(source: Source, family: Family, *, window: float, at: float) -> Readings | Failure:
    """Asks all four questions at once; one failure is the answer of all."""
    found = await asyncio.gather(
        source.query(family.value(window), at=at),
        source.query(family.count(window), at=at),
        source.query(family.newest(), at=at),
        source.query(family.sparser(window), at=at),
    )
    answered: list[list[Sample]] = []
    for each in found:
        if isinstance(each, Failure):
            return each
        answered.append(each)
    return combine(family, Answers(*answered), window=window, at=at)
