"""Asking a Prometheus for several families at once, each failing for itself, with the window each of them needs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from ecotone.services.monitor.conditions import PROMETHEUS_REACHABLE, Condition
from ecotone.services.monitor.metrics import MonitorMetrics
from ecotone.telemetry.families import Family, Reading, Readings, read
from ecotone.telemetry.prometheus import Failure, Source
from ecotone.telemetry.samples import Sample
from ecotone.telemetry.window import next_window


class CountedSource:
    """Counts what is asked and how it ends."""

    def __init__(self, source: Source, metrics: MonitorMetrics) -> None:
        self._source = source
        self._metrics = metrics

    async def query(self, promql: str, *, at: float) -> list[Sample] | Failure:
        found = await self._source.query(promql, at=at)
        self._metrics.queries.labels(found.trouble.value if isinstance(found, Failure) else "answered").inc()
        return found


@dataclass(slots=True)
class Answered:
    """What a cycle learnt."""

    readings: dict[str, list[Reading]] = field(default_factory=dict)
    young: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    def of(self, name: str) -> list[Reading]:
        return self.readings.get(name, [])

    def take(self, name: str, found: Readings | Failure) -> None:
        if isinstance(found, Failure):
            self.failures[name] = found
        else:
            self.readings[name] = found.values
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


class Windows:
    """The window of each family: as wanted, and at least four of its scrapes."""

    def __init__(self) -> None:
        self._current: dict[str, float] = {}

    def of(self, name: str, wanted: float) -> float:
        return max(wanted, self._current.get(name, wanted))

    def learn(self, name: str, wanted: float, readings: Readings) -> None:
        self._current[name] = next_window(self.of(name, wanted), wanted=wanted, samples=readings.samples)


async def read_all(
    source: Source, families: Mapping[str, Family], *, windows: Windows, wanted: float, at: float
) -> Answered:
    async def one(name: str, family: Family) -> tuple[str, Readings | Failure]:
        found = await read(source, family, window=windows.of(name, wanted), at=at)
        if isinstance(found, Readings):
            windows.learn(name, wanted, found)
        return name, found

    answered = Answered()
    for name, found in await asyncio.gather(*(one(name, family) for name, family in families.items())):
        answered.take(name, found)
    return answered
