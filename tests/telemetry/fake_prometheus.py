"""A source whose answers a test writes down."""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.telemetry.prometheus import Failure
from ecotone.telemetry.samples import Sample


class FakeSource:
    """Answers by query text; what is not there is an empty vector."""

    def __init__(self, answers: Mapping[str, list[Sample] | Failure] | None = None) -> None:
        self.answers = dict(answers or {})
        self.asked: list[tuple[str, float]] = []

    async def query(self, promql: str, *, at: float) -> list[Sample] | Failure:
        self.asked.append((promql, at))
        return self.answers.get(promql, [])


def sample(value: float, at: float = 0.0, **labels: str) -> Sample:
    return Sample(labels, value, at)
