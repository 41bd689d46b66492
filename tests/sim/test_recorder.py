"""Quantiles that stay right when a day of requests no longer fits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ecotone.sim.recorder import Recorder, Samples


def test_a_small_set_is_exact() -> None:
    samples = Samples()
    for value in (0.1, 0.2, 0.3, 0.4):
        samples.add(value)
    assert samples.mean == pytest.approx(0.25)
    assert samples.quantile(0.5) == pytest.approx(0.25)
    assert samples.quantile(0.95) == pytest.approx(0.385)


def test_a_large_set_is_folded_and_keeps_its_quantiles_to_a_ten_thousandth() -> None:
    draws = random.Random(1)
    values = [draws.expovariate(10.0) for _ in range(50_000)]
    samples = Samples(exact=4096)
    for value in values:
        samples.add(value)
    for share in (0.5, 0.95, 0.99):
        assert samples.quantile(share) == pytest.approx(float(np.quantile(values, share)), rel=2e-4)
    assert samples.mean == pytest.approx(sum(values) / len(values))
    assert len(samples._values) < 4096


def test_failures_count_as_a_minute() -> None:
    samples = Samples()
    for _ in range(90):
        samples.add(0.1)
    assert samples.quantile(0.95) == 0.1
    assert samples.quantile(0.95, failures=10) == 60.0
    folded = Samples(exact=10)
    for _ in range(90):
        folded.add(0.1)
    assert folded.quantile(0.95, failures=10) == pytest.approx(60.0, rel=2e-4)
    assert Samples().quantile(0.95) is None


def test_what_is_open_at_the_end_has_failed() -> None:
    recorder = Recorder(warmup=10.0, intervals=2)
    recorder.begin(5.0, 0)  # before the warm-up: does not count
    for tag in (0, 1, 1):
        recorder.begin(20.0, tag)
    recorder.answer(sent=20.0, now=20.5, tag=1, network=0.1, work=0.2, waiting=0.2, disruption=0.0)
    recorder.close()
    assert (recorder.sent, recorder.failed, recorder.samples.count) == (3, 2, 1)
    assert [(each.sent, each.failed) for each in recorder.intervals] == [(1, 1), (2, 1)]
    assert recorder.causes["unanswered"] == 2
    assert recorder.series == [(15.0, 0.5)]


def test_failures_are_kept_by_when_they_were_sent_and_by_cause() -> None:
    recorder = Recorder(warmup=10.0, intervals=1)
    for sent, cause in ((5.0, "killed"), (16.0, "starting"), (29.0, "starting"), (31.0, "killed")):
        recorder.begin(sent, 0)
        recorder.fail(sent=sent, tag=0, cause=cause)
    recorder.begin(40.0, 0)
    recorder.close()
    assert recorder.failures == {1: {"starting": 2}, 2: {"killed": 1, "unanswered": 1}}
