"""How few nodes could do, or how cheap ones, counted instead of solved.

Once it is known how many applications are rejected and how many microservices leave for the cloud, the rest must stand on
the edge; the largest nodes, filled to the brim, are the fewest that hold it, and where nodes have prices the cheapest for
their size, the last in part, cost least. Where a heuristic comes as low, nothing is left to solve, however large the model.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.milp import Objective
from ecotone.placement.exact.scaling import Scaled
from ecotone.placement.problem.instance import Component, Instance


def edge_nodes(instance: Instance, scaled: Scaled, columns: Ints) -> Objective:
    """F of equation (1): edge nodes in use, by their prices where they carry any; `columns` say which are."""
    opening = instance.opening[instance.edge]
    whole = bool((opening == np.rint(opening)).all())
    bound = least_opening(instance, scaled)
    return Objective("edge nodes in use", columns, opening, integral=whole, lower_after=bound)


def least_opening(instance: Instance, scaled: Scaled) -> Callable[[Sequence[float]], float]:
    """Given applications rejected and microservices forwarded, nodes in use count for at least this much."""
    opening = instance.opening[instance.edge]

    def lower(before: Sequence[float]) -> float:
        rejected, forwarded = (round(value) for value in before)
        edge = instance.edge
        used, free = instance.in_use[edge], scaled.free[edge]
        more = 0.0
        for r, amount in enumerate(_stays(instance, scaled, rejected, forwarded) - free[used].sum(axis=0)):
            if amount > 0:
                room = free[~used, r]
                more = max(
                    more, _cheapest(room, opening[~used], amount) if instance.edge_priced else _fewest(room, amount)
                )
        return float(opening[used].sum() + more)

    return lower


def _fewest(free: Ints, amount: int) -> float:
    return float(np.searchsorted(np.cumsum(np.sort(free)[::-1]), amount) + 1)


def _cheapest(free: Ints, prices: Floats, amount: int) -> float:
    """The relaxation: room is bought where a unit of it is cheapest, of the last node only what is needed."""
    roomy = free > 0
    free, prices = free[roomy], prices[roomy]
    order = np.argsort(prices / free, kind="stable")
    before = np.cumsum(free[order]) - free[order]
    bought = np.clip(amount - before, 0, free[order])
    return float((bought * (prices / free)[order]).sum())


def _stays(instance: Instance, scaled: Scaled, rejected: int, forwarded: int) -> Ints:
    """Per resource, what is on the edge at least: the largest applications and microservices are those that are not."""
    whole = _table(scaled, [_sum(scaled, a.components) for a in instance.applications])
    parts = _table(scaled, [scaled.demand(c) for a in instance.applications for c in a.microservices])
    return np.asarray(whole.sum(axis=0) - _largest(whole, rejected) - _largest(parts, forwarded), dtype=np.int64)


def _sum(scaled: Scaled, components: Sequence[Component]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*map(scaled.demand, components), strict=True)))


def _table(scaled: Scaled, demands: Sequence[tuple[int, ...]]) -> Ints:
    return np.array(demands, dtype=np.int64).reshape(len(demands), len(scaled.units))


def _largest(demands: Ints, count: int) -> Ints:
    return np.asarray(np.sort(demands, axis=0)[::-1][:count].sum(axis=0), dtype=np.int64)
