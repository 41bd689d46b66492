"""A family of series as questions to a Prometheus, and the answers put together.

Questions are grouped by target (`sources.reader` asks them), so that whose a series is can be told before anything is
summed. One value that is not finite, below zero or beyond all measure would spoil every sum it is part of: such series are left
out by the question itself, one by one, and counted by another.

A value alone does not say whether it may be believed. Each family therefore asks, for the same groups of series and the
same moment: the value over the window, how many samples stand behind it, when the oldest of the newest samples was
taken, and how much sparser the window's first half was sampled than its second. A group that no longer reports has no newest
sample, so what was once measured is not repeated as if it were new. A rate over a window whose first or last part nobody
sampled (Prometheus was down) would be too low by that part: samples must reach close to the window's end, and its first
half must hold as many as its second, reckoned from the last sample before the window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import msgspec

from ecotone.telemetry.samples import Sample
from ecotone.telemetry.sources.speakers import Role, Speaker, Voices
from ecotone.telemetry.window import SCRAPES, promql_duration

LATE_SCRAPES = 1.5
"""How many of the slowest scrapes that a window allows may be missing at its end."""
SPARSE = 1.2
"""How many times as far apart samples may be in a window's first half as in its second: rates are then at most 10 % too low."""


MOST_PER_SECOND = 1e12
"""Bytes or requests a second that no series reaches."""
MOST_CORES = 1e5
MOST_BYTES = 1e15
SPEAKER_NAMESPACE, SPEAKER_WORKLOAD, SPEAKER_NODE = "@namespace", "@workload", "@node"
"""What `Family.by` calls the one who exposed a series; no label of Prometheus is written so."""


class Kind(Enum):
    RATE = "rate"
    """A counter: its increase per second, summed over the group, series that ended within the window included."""
    AVERAGE = "average"
    """A gauge: its average over the window, summed over the group's series that are still there."""


Labels = Mapping[str, str]


def _anything(_labels: Labels, _speaker: Speaker) -> bool:
    return True


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
    asks: tuple[str, ...] = ()
    """Labels that `admits` looks at, besides those of `by`."""
    voices: Voices = field(default_factory=Voices)
    admits: Callable[[Labels, Speaker], bool] = _anything
    """Whether this speaker may say this."""
    placed: bool = False
    """True if, where nobody is asked who it is, the labels `namespace`, `pod` and `workload` tell."""
    most: float = 1e15
    """What no series of the family can be beyond."""

    def value(self, window: float, *, identity: tuple[str, ...] = ()) -> str:
        parts = [self._possible(each) for each in self._values(window)]
        return _grouped("sum", parts, self.asked(identity))

    def impossible(self, window: float, *, identity: tuple[str, ...] = ()) -> str:
        """How many series are left out of the value."""
        everything = self._values(window)
        sound = " or ".join(self._possible(each) for each in everything)
        return _grouped("count", [f"({' or '.join(everything)}) unless ({sound})"], self.asked(identity))

    def count(self, window: float, *, identity: tuple[str, ...] = ()) -> str:
        over = promql_duration(window)
        parts = [f"count_over_time({each}[{over}])" for each in self._series()]
        return _grouped("max", parts, self.judged(identity))

    def newest(self, *, identity: tuple[str, ...] = ()) -> str:
        return _grouped("min", [f"timestamp({each})" for each in self._series()], self.judged(identity))

    def present(self, *, identity: tuple[str, ...] = ()) -> str:
        return _grouped("count", self._series(), self.asked(identity))

    def narrowed(self, matchers: Sequence[str]) -> Family:
        """Only series that match one of these, too."""
        both = [",".join(filter(None, (own, other))) for own in self.selectors for other in matchers]
        return replace(self, selectors=tuple(dict.fromkeys(both)))

    def asked(self, identity: tuple[str, ...]) -> tuple[str, ...]:
        return _labels((*self.by, *self.asks, *identity))

    def judged(self, identity: tuple[str, ...]) -> tuple[str, ...]:
        return _labels((*self.judged_by, *self.asks, *identity))

    def _values(self, window: float) -> list[str]:
        over = promql_duration(window)
        if self.kind is Kind.RATE:
            return [f"rate({each}[{over}])" for each in self._series()]
        return [f"(avg_over_time({each}[{over}]) and {each})" for each in self._series()]

    def _possible(self, value: str) -> str:
        return f"({value} >= {-self.most if self.signed else 0:g} <= {self.most:g})"

    def sparser(self, window: float, *, identity: tuple[str, ...] = ()) -> str:
        """How many times as far apart samples are in the window's first half as in its second; nothing where it is not filled.

        Zero if the group's series were there when the window began and ended in it, replaced by others of the group.
        """
        return _grouped("min", [_sparser(each, window) for each in self._series()], self.judged(identity))

    def _series(self) -> list[str]:
        return [f"{self.metric}{{{each}}}" if each else self.metric for each in self.selectors]

    @property
    def judged_by(self) -> tuple[str, ...]:
        return self.together or self.by


def believed(speaker: Speaker) -> bool:
    """True if nobody is asked who exposed a series."""
    return speaker.role is Role.BELIEVED


def _grouped(aggregation: str, parts: list[str], by: tuple[str, ...]) -> str:
    return f"{aggregation} by ({','.join(by)}) ({' or '.join(parts)})"


def _labels(names: tuple[str, ...]) -> tuple[str, ...]:
    """Those that Prometheus knows, each once."""
    return tuple(dict.fromkeys(name for name in names if not name.startswith("@")))


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
    refused: Mapping[str, int] = field(default_factory=dict)
    """Why nobody knows whose some series are, and how many."""


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
