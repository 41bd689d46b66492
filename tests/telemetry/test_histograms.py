"""Percentiles of buckets, against what Prometheus' `histogram_quantile` answers."""

from __future__ import annotations

import pytest

from ecotone.telemetry.histograms import percentile


@pytest.mark.parametrize(
    ("buckets", "share", "expected"),
    [
        ({"10": 50.0, "20": 100.0, "+Inf": 100.0}, 0.5, 10.0),
        ({"10": 50.0, "20": 100.0, "+Inf": 100.0}, 0.75, 15.0),
        ({"10": 50.0, "20": 60.0, "+Inf": 100.0}, 0.95, 20.0),
        ({"10": 100.0, "+Inf": 100.0}, 0.5, 5.0),
        ({"10": 50.0, "20": 49.0, "40": 100.0, "+Inf": 100.0}, 0.75, 30.0),
        ({"10": 50.0, "20": 100.0}, 0.5, None),
        ({"10": 0.0, "+Inf": 0.0}, 0.5, None),
        ({"odd": 1.0, "nan": 1.0, "+Inf": 1.0}, 0.5, None),
        ({}, 0.5, None),
    ],
)
def test_percentiles_are_on_straight_lines_between_bounds(
    buckets: dict[str, float], share: float, expected: float | None
) -> None:
    assert percentile(buckets, share) == expected
