"""Percentiles of a histogram's buckets, as Prometheus reckons them: straight lines within a bucket. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping


def percentile(buckets: Mapping[str, float], share: float) -> float | None:
    """``buckets``: requests (or a rate of them) up to each bound `le`; None if there is none or no `+Inf` among them."""
    bounds: list[tuple[float, float]] = []
    for text, count in buckets.items():
        try:
            bounds.append((float(text), count))
        except ValueError:
            continue
    bounds = sorted((bound, count) for bound, count in bounds if not math.isnan(bound))
    if len(bounds) < 2 or not math.isinf(bounds[-1][0]) or bounds[-1][1] <= 0:
        return None
    wanted = share * bounds[-1][1]
    below, before = 0.0, 0.0
    for bound, count in bounds:
        up_to = max(count, before)  # scrapes of several pods are not of one moment
        if up_to >= wanted and up_to > 0:
            if math.isinf(bound):
                return below
            if bound <= 0:
                return bound
            return below + (bound - below) * ((wanted - before) / (up_to - before) if up_to > before else 1.0)
        below, before = bound, up_to
    return below
