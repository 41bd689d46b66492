"""A source whose answers a test writes down."""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.telemetry.prometheus import Failure, Source, Trouble
from ecotone.telemetry.samples import Sample
from ecotone.telemetry.sources.reader import Reader
from ecotone.telemetry.sources.speakers import Trust
from telemetry.directory import Town


class FakeSource:
    """Answers by query text; what is not there is an empty vector."""

    def __init__(self, answers: Mapping[str, list[Sample] | Failure] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, float]] = []

    async def query(self, promql: str, *, at: float, asker: str = "") -> list[Sample] | Failure:
        del asker
        self.asked.append((promql, at))
        return self.answers.get(promql, [])

    async def page(self, path: str, fields: Mapping[str, str]) -> bytes | Failure:
        del fields
        return Failure(Trouble.REFUSED, f"{path} is not served (404)")


def believing(source: Source, at: float = 0.0) -> Reader:
    """A reader that asks nobody who he is."""
    return Reader(source, Town(), Trust(everything=True), place=Town().pod, clock=lambda: at)


def sample(value: float, at: float = 0.0, **labels: str) -> Sample:
    return Sample(labels, value, at)
