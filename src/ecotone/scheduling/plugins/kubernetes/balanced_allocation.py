"""NodeResourcesBalancedAllocation: prefers nodes whose CPU and memory the pod leaves, or makes, evenly used.

Kubernetes 1.36 scores the *improvement*: 50 + (50 + balance with the pod - balance without) / 2 in whole numbers,
where balance = 100 x (1 - standard deviation of the fractions in use). Pods that request none of the resources are not
scored, lest all of them land on one node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask, Rows
from ecotone.scheduling.plugin import Change, Cycle
from ecotone.scheduling.plugins.kubernetes.node_resources_fit import read_weights, shares, shares_at

HALF = 50
_UNCHANGED = HALF + HALF // 2


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"
    placement_changes: Change | None = "row"

    def __init__(self, *, resources: Sequence[Mapping[str, Any]] | None = None) -> None:
        self.weights = read_weights(resources)

    def score(self, cycle: Cycle, rows: Rows) -> Ints | None:
        if not any(cycle.pod.spec.request(name) for name, _ in self.weights):
            return None
        if len(rows) == 1:
            return np.array([self._score_at(cycle, int(rows[0]))], dtype=np.int64)
        found = list(shares(cycle, rows, self.weights, nonzero=False))
        missing = [share.missing for share in found]
        before = _balance([_fraction(share.taken, share.capacity) for share in found], missing)
        after = _balance([_fraction(share.taken + share.asked, share.capacity) for share in found], missing)
        after -= before
        after += HALF
        after //= 2
        after += HALF
        return after

    def _score_at(self, cycle: Cycle, row: int) -> int:
        """One row, as every further replica of a batch asks."""
        found = shares_at(cycle, row, self.weights, nonzero=False)
        before = _balance_of([min(taken / size, 1.0) for _, size, taken, _ in found])
        after = _balance_of([min((taken + asked) / size, 1.0) for _, size, taken, asked in found])
        return HALF + (HALF + after - before) // 2

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        """Halving the difference of balances loses a point, so none is claimed for a single one."""
        change = 2 * (round(raw) - _UNCHANGED)
        if abs(change) <= 2:
            return "use about as even as before"
        return f"use {abs(change)} points {'more' if change > 0 else 'less'} even"


def _balance_of(fractions: list[float]) -> int:
    deviation = 0.0
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        # Plain additions in order, as over arrays: `sum` may compensate rounding.
        total = squares = 0.0
        for fraction in fractions:
            total += fraction
        mean = total / len(fractions)
        for fraction in fractions:
            squares += (fraction - mean) * (fraction - mean)
        deviation = sqrt(squares / len(fractions))
    return int((1 - deviation) * 100.0)


def _fraction(part: Ints, whole: Ints) -> Floats:
    fraction: Floats = np.true_divide(part, whole)
    return np.minimum(fraction, 1.0, out=fraction)


def _balance(fractions: list[Floats], missing: list[Mask | None]) -> Ints:
    """100 x (1 - deviation), cut off; a resource that a node does not have is left out on that node."""
    if len(fractions) == 2 and missing[0] is None and missing[1] is None:
        deviation = _half_difference(*fractions)
    else:
        deviation = _deviation(fractions, missing)
    np.subtract(1.0, deviation, out=deviation)
    deviation *= 100.0
    return deviation.astype(np.int64)


def _half_difference(one: Floats, other: Floats) -> Floats:
    difference = one - other
    difference /= 2.0
    return np.abs(difference, out=difference)


def _deviation(fractions: list[Floats], missing: list[Mask | None]) -> Floats:
    """The general case: any number of resources, each node with those it has."""
    deviation = np.zeros(len(fractions[0]) if fractions else 0)
    nowhere = np.zeros(len(deviation), dtype=np.bool_)
    patterns = ~np.array([nowhere if each is None else each for each in missing], dtype=np.bool_).T
    for pattern in np.unique(patterns, axis=0):
        rows = np.flatnonzero((patterns == pattern).all(axis=1))
        used = [fraction[rows] for fraction, has in zip(fractions, pattern, strict=True) if has]
        if len(used) == 2:
            deviation[rows] = _half_difference(*used)
        elif len(used) > 2:
            total = np.zeros(len(rows))
            for fraction in used:
                total += fraction
            mean = total / len(used)
            squares = np.zeros(len(rows))
            for fraction in used:
                squares += (fraction - mean) * (fraction - mean)
            deviation[rows] = np.sqrt(squares / len(used))
    return deviation
