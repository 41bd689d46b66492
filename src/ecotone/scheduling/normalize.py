"""Two ways to bring raw scores to 0..100.

`min_max` is Ecotone's and the papers' rule: over the feasible nodes, all equal gives 50. `kubernetes` is what the default
plugins do: integers, scaled by the maximum, optionally turned around.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.scheduling.plugin import Scores

MAX = 100
NEUTRAL = 50.0


def min_max(raw: Scores) -> Floats:
    """0 for the lowest, 100 for the highest. An unknown (NaN, infinite) counts as the lowest; all unknown is neutral."""
    values = np.asarray(raw, dtype=np.float64)
    if not len(values):
        return values
    unknown = ~np.isfinite(values)
    if unknown.any():
        if unknown.all():
            return np.full(len(values), NEUTRAL)
        values = np.where(unknown, values[~unknown].min(), values)
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return np.full(len(values), NEUTRAL)
    # In this order: the reciprocal of a tiny span would be infinite.
    return (values - low) / (high - low) * MAX


def kubernetes(raw: Scores, *, reverse: bool = False) -> Ints:
    """score * 100 / max in whole numbers; all zero stays zero (or becomes 100 when reversed)."""
    return kubernetes_by(raw, kubernetes_top(raw), reverse=reverse)


def kubernetes_top(raw: Scores) -> int:
    """The maximum that scores are scaled by."""
    return int(np.asarray(raw, dtype=np.int64).max(initial=0))


def kubernetes_by(raw: Scores, top: int, *, reverse: bool = False) -> Ints:
    """The same for some of the scores."""
    values = np.asarray(raw, dtype=np.int64)
    if top == 0:
        return np.full(len(values), MAX, dtype=np.int64) if reverse else values
    scaled = values * MAX // top
    return MAX - scaled if reverse else scaled
