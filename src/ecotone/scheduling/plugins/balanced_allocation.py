"""NodeResourcesBalancedAllocation: prefers nodes whose CPU and memory the pod leaves, or makes, evenly used.

Kubernetes 1.36 scores the *improvement*: 50 + (50 + balance with the pod - balance without) / 2 in whole numbers,
where balance = 100 x (1 - standard deviation of the fractions in use). Pods that request none of the resources are not
scored, lest all of them land on one node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ecotone.model.arrays import Floats, Ints, Rows
from ecotone.scheduling.plugin import Change, Cycle
from ecotone.scheduling.plugins.node_resources_fit import read_weights, shares

HALF = 50


class NodeResourcesBalancedAllocation:
    name = "NodeResourcesBalancedAllocation"
    placement_changes: Change | None = "row"

    def __init__(self, *, resources: Sequence[Mapping[str, Any]] | None = None) -> None:
        self.weights = read_weights(resources)

    def score(self, cycle: Cycle, rows: Rows) -> Ints | None:
        if not any(cycle.pod.spec.request(name) for name, _ in self.weights):
            return None
        found = list(shares(cycle, rows, self.weights, nonzero=False))
        capacity = [each[1] for each in found]
        before = _balance([_fraction(taken, size) for _, size, taken, _ in found], capacity)
        after = _balance([_fraction(taken + asked, size) for _, size, taken, asked in found], capacity)
        return HALF + (HALF + after - before) // 2


def _fraction(part: Ints, whole: Ints) -> Floats:
    return np.minimum(part / np.maximum(whole, 1), 1.0)


def _balance(fractions: list[Floats], capacity: list[Ints]) -> Ints:
    """100 x (1 - deviation), cut off; a resource that a node does not have is left out on that node."""
    some = [size > 0 for size in capacity]
    if len(fractions) == 2:
        deviation = np.abs((fractions[0] - fractions[1]) / 2)
        if not (some[0].all() and some[1].all()):
            deviation = np.where(some[0] & some[1], deviation, 0.0)
    else:
        deviation = _deviation(fractions, some)
    balance: Ints = ((1 - deviation) * 100.0).astype(np.int64)
    return balance


def _deviation(fractions: list[Floats], some: list[Any]) -> Floats:
    """The general case: any number of resources, each node with those it has."""
    size = len(fractions[0]) if fractions else 0
    deviation = np.zeros(size)
    patterns = np.array(some, dtype=np.bool_).T
    for pattern in np.unique(patterns, axis=0):
        rows = np.flatnonzero((patterns == pattern).all(axis=1))
        used = [fraction[rows] for fraction, has in zip(fractions, pattern, strict=True) if has]
        if len(used) == 2:
            deviation[rows] = np.abs((used[0] - used[1]) / 2)
        elif len(used) > 2:
            total = np.zeros(len(rows))
            for fraction in used:
                total = total + fraction
            mean = total / len(used)
            squares = np.zeros(len(rows))
            for fraction in used:
                squares = squares + (fraction - mean) * (fraction - mean)
            deviation[rows] = np.sqrt(squares / len(used))
    return deviation
