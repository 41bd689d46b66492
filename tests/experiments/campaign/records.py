"""Records of runs with only the figures a test is about."""

from __future__ import annotations

from typing import Any

import msgspec

from ecotone.experiments.campaign.record import Phase, ResponseTimes, Run

PARTS = ("network", "work", "waiting", "disruption")
_EMPTY = Run(
    policy="test",
    trial=0,
    requests=0,
    failed=0,
    response_ms=ResponseTimes(None, None, None, None),
    p95_with_failures_ms=None,
    breakdown_ms=dict.fromkeys(PARTS),
    p95_breakdown_ms=dict.fromkeys(PARTS),
    breakdown_with_failures_ms=dict.fromkeys((*PARTS, "unanswered")),
    failures={},
    series=[],
    intervals=[],
    evictions=0,
    preemptions=0,
    lost_to_evictions=0,
    failures_series=[],
    quantiles_ms=[],
    moves=[],
    binds=[],
    talk=[],
    cost_per_hour=None,
    unplaced=[],
    placement=[],
    utilisation={},
)


def record(p95: float | None, *, mean: float | None = None, **figures: Any) -> Run:
    """Response times all equal to `p95` unless `mean` says otherwise."""
    times = ResponseTimes(mean=p95 if mean is None else mean, p50=p95, p95=p95, p99=p95)
    return msgspec.structs.replace(_EMPTY, response_ms=times, **{"p95_with_failures_ms": p95, **figures})


def phase(number: int, p95: float) -> Phase:
    return Phase(
        at=60 * number, entry=f"web.api{number}", sources=["edge-1"], requests=1, failed=0, mean_ms=p95, p95_ms=p95,
        breakdown_ms={},
    )  # fmt: skip
