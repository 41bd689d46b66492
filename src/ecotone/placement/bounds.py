"""How few nodes could do, counted instead of solved.

Once it is known how many applications are rejected and how many microservices leave for the cloud, the rest must stand on
the edge; the largest nodes, filled to the brim, are the fewest that hold it. Where a heuristic comes as low, nothing is left
to solve, however large the model.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ecotone.placement.instance import Component, Instance, IntArray
from ecotone.placement.scaling import Scaled


def fewest_nodes(instance: Instance, scaled: Scaled) -> Callable[[Sequence[float]], float]:
    """Given applications rejected and microservices forwarded, at least this many nodes are in use."""

    def lower(before: Sequence[float]) -> float:
        rejected, forwarded = (round(value) for value in before)
        edge = instance.edge
        used, free = instance.in_use[edge], scaled.free[edge]
        more = 0
        for r, amount in enumerate(_stays(instance, scaled, rejected, forwarded) - free[used].sum(axis=0)):
            if amount > 0:
                room = np.cumsum(np.sort(free[~used, r])[::-1])
                more = max(more, int(np.searchsorted(room, amount)) + 1)
        return float(used.sum() + more)

    return lower


def _stays(instance: Instance, scaled: Scaled, rejected: int, forwarded: int) -> IntArray:
    """Per resource, what is on the edge at least: the largest applications and microservices are those that are not."""
    whole = _table(scaled, [_sum(scaled, a.components) for a in instance.applications])
    parts = _table(scaled, [scaled.demand(c) for a in instance.applications for c in a.microservices])
    return np.asarray(whole.sum(axis=0) - _largest(whole, rejected) - _largest(parts, forwarded), dtype=np.int64)


def _sum(scaled: Scaled, components: Sequence[Component]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*map(scaled.demand, components), strict=True)))


def _table(scaled: Scaled, demands: Sequence[tuple[int, ...]]) -> IntArray:
    return np.array(demands, dtype=np.int64).reshape(len(demands), len(scaled.units))


def _largest(demands: IntArray, count: int) -> IntArray:
    return np.asarray(np.sort(demands, axis=0)[::-1][:count].sum(axis=0), dtype=np.int64)
