"""Asking a Prometheus for several families at once, each failing for itself, with the window each of them needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ecotone.services.monitor.conditions import PROMETHEUS_REACHABLE, SOURCES_KNOWN, Condition
from ecotone.services.monitor.metrics import MonitorMetrics
from ecotone.telemetry.families import Family, Reading, Readings
from ecotone.telemetry.prometheus import Failure, Source, Trouble
from ecotone.telemetry.samples import Sample
from ecotone.telemetry.sources.reader import Reader
from ecotone.telemetry.window import next_window

T = TypeVar("T")

REASONS = 3
"""How many a condition tells."""


class CountedSource:
    """Counts what is asked and how it ends."""

    def __init__(self, source: Source, metrics: MonitorMetrics) -> None:
        self._source = source
        self._metrics = metrics

    async def query(self, promql: str, *, at: float, asker: str = "") -> list[Sample] | Failure:
        return self._counted(await self._source.query(promql, at=at, asker=asker))

    async def page(self, path: str, fields: Mapping[str, str]) -> bytes | Failure:
        return self._counted(await self._source.page(path, fields))

    def _counted(self, found: T | Failure) -> T | Failure:
        self._metrics.queries.labels(found.trouble.value if isinstance(found, Failure) else "answered").inc()
        return found


@dataclass(slots=True)
class Answered:
    """What a cycle learnt."""

    readings: dict[str, list[Reading]] = field(default_factory=dict)
    young: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    """Why nobody knows whose some series are, and how many."""

    def of(self, name: str) -> list[Reading]:
        return self.readings.get(name, [])

    def take(self, name: str, found: Readings | Failure) -> None:
        if isinstance(found, Failure):
            self.failures[name] = found
        else:
            self.readings[name] = found.values
            for why, count in found.refused.items():
                self.refused[why] = self.refused.get(why, 0) + count
            if found.young:
                self.young[name] = found.young

    def reachable(self) -> Condition:
        """Whether Prometheus answered; a part of the questions that failed is told with its reason."""
        if not self.failures:
            return Condition(PROMETHEUS_REACHABLE, True, "Answering")
        name, failure = next(iter(self.failures.items()))
        reason = "".join(part.capitalize() for part in failure.trouble.value.split("-"))
        asked = len(self.failures) + len(self.readings)
        message = f"{len(self.failures)} of {asked} questions failed; {name}: {failure.message}"
        return Condition(PROMETHEUS_REACHABLE, bool(self.readings), reason, message)

    def sources(self) -> Condition:
        """Whether it is known whose the series are that were read."""
        untold = next((each for each in self.failures.values() if each.trouble is Trouble.UNTRUSTED), None)
        if untold is not None:
            return Condition(SOURCES_KNOWN, False, "NotTold", untold.message)
        if not self.refused:
            return Condition(SOURCES_KNOWN, True, "Known")
        said = sorted(self.refused, key=lambda why: (-self.refused[why], why))
        return Condition(SOURCES_KNOWN, False, "LeftOut", "; ".join(said[:REASONS]))


class Windows:
    """The window of each family: as wanted, and at least four of its scrapes."""

    def __init__(self) -> None:
        self._current: dict[str, float] = {}

    def of(self, name: str, wanted: float) -> float:
        return max(wanted, self._current.get(name, wanted))

    def learn(self, name: str, wanted: float, readings: Readings) -> None:
        self._current[name] = next_window(self.of(name, wanted), wanted=wanted, samples=readings.samples)


async def read_all(
    reader: Reader, families: Mapping[str, Family], *, windows: Windows, wanted: float, at: float, asker: str = ""
) -> Answered:
    async def one(name: str, family: Family) -> tuple[str, Readings | Failure]:
        found = await reader.read(family, window=windows.of(name, wanted), at=at, asker=asker)
        if isinstance(found, Readings):
            windows.learn(name, wanted, found)
        return name, found

    answered = Answered()
    for name, found in await asyncio.gather(*(one(name, family) for name, family in families.items())):
        answered.take(name, found)
    return answered
