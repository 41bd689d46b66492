"""Means, paired intervals and gains, by hand."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.comparison import summarise
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.statistics import interval95, significant
from experiments.campaign.records import record


def run(policy: str, trial: int, p95: float | None, *, failed: int = 0) -> Run:
    return record(p95, policy=policy, trial=trial, requests=100, failed=failed, evictions=trial)


def test_the_interval_is_students() -> None:
    # Mean 3, standard deviation 1.5811, t(0.975, 4) = 2.7764.
    assert interval95([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx((3 - 1.96324, 3 + 1.96324), abs=1e-4)
    assert interval95([1.0]) is None


def test_gains_are_taken_over_the_same_trials() -> None:
    runs = [run("base", 0, 100.0), run("base", 1, 200.0), run("better", 0, 50.0), run("better", 1, 100.0)]
    base, better = summarise(runs)
    assert base["vs_baseline"] == 0
    assert better["vs_baseline"] == -0.5
    # The two trials differ, their ratios do not: the paired interval is a point.
    assert better["vs_baseline_ci95"] == [-0.5, -0.5]
    assert better["p95_ms"] == 75
    assert better["p95_ci95"][0] < 0 < better["p95_ci95"][1]


def test_figures_of_an_empty_set_are_null() -> None:
    (only,) = summarise([run("base", 0, None, failed=100)])
    assert only["p95_ms"] is None
    assert only["p95_ci95"] is None
    assert only["vs_baseline"] is None
    assert only["failed_share"] == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (123456.789, 123457),
        (0.000123456789, 0.000123457),
        (-2.5, -2.5),
        (0.0, 0.0),
        (1e-300, 1e-300),
        (None, None),
        (float("nan"), None),
    ],
)
def test_six_significant_digits(value: float | None, expected: float | None) -> None:
    assert significant(value) == expected
