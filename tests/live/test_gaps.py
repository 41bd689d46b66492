"""A Prometheus that was away: no rate is believed whose window begins, or ends, where nobody sampled."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from ecotone.telemetry.families import Family, Readings
from ecotone.telemetry.prometheus import Prometheus, PrometheusSettings
from live.planted import Planted, planted
from live.prometheus_server import PrometheusServer
from telemetry.fake_prometheus import believing

RATE = 100.0
WINDOW = 10.0
STARTING = 7.0
"""Seconds until a Prometheus that was started has scraped for the first time: it looks at its targets every five."""
LATE = 1.3
"""Seconds between samples and a bit: to lag behind by more is tolerated, up to a third of a window, and costs as much."""
STAYS = Family("stays_total", by=("node",))
REPLACED = Family("replaced_total", by=("node",))
"""Its series ends and another one of its group begins: the sum goes on."""


async def believed(url: str, family: Family, *, seconds: float) -> list[float | None]:
    """What is read ten times a second while samples are new; None where nothing is."""
    found: list[float | None] = []
    async with Prometheus(PrometheusSettings(url)) as prometheus:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            now = time.time()
            answer = await believing(prometheus).read(family, window=WINDOW, at=now)
            assert isinstance(answer, Readings)
            if not answer.values:
                found.append(None)
            elif now - answer.values[0].at < LATE:
                found.append(answer.values[0].value)
            await asyncio.sleep(0.1)
    return found


def right(values: list[float | None], *, rel: float) -> bool:
    return all(value == pytest.approx(RATE, rel=rel) for value in values if value is not None)


def plant(source: Planted, name: str, *, pod: str) -> None:
    source.counter(name, RATE, node="n", pod=pod)


def test_no_rate_is_taken_over_a_gap_at_the_beginning_of_its_window(tmp_path: Path) -> None:
    with planted() as source:
        plant(source, "stays_total", pod="one")
        prometheus = PrometheusServer(tmp_path, {"planted": [{"targets": [source.target]}]})
        try:
            before = asyncio.run(believed(prometheus.url, STAYS, seconds=STARTING + WINDOW + 2))
            assert before[0] is None and before[-1] is not None and right(before, rel=0.1)
            prometheus.stop()
            prometheus.restart()
            after = asyncio.run(believed(prometheus.url, STAYS, seconds=STARTING + WINDOW + 4))
        finally:
            prometheus.stop()
    # A sample that comes late on a busy machine is a fifth of an interval, the gap without this rule half of the rate.
    assert right(after, rel=0.12), after
    assert None in after, "nothing was held back: there was no gap"
    assert None not in after[-10:], "a window that is whole again is not believed"


def test_a_group_whose_series_are_replaced_is_read_all_along(tmp_path: Path) -> None:
    with planted() as source:
        plant(source, "replaced_total", pod="one")
        prometheus = PrometheusServer(tmp_path, {"planted": [{"targets": [source.target]}]})
        try:
            asyncio.run(believed(prometheus.url, REPLACED, seconds=STARTING + WINDOW + 2))
            source.drop('pod="one"')
            plant(source, "replaced_total", pod="two")
            during = asyncio.run(believed(prometheus.url, REPLACED, seconds=WINDOW + 2))
        finally:
            prometheus.stop()
    # One scrape comes between the last sample of one and the first of the other.
    assert during.count(None) < len(during) / 4
    assert None not in during[: len(during) // 2]
