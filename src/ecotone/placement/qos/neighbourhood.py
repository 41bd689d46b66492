"""Large neighbourhoods: a few nodes are emptied and packed anew by the exact model, everything else stays.

Each round takes a handful of near nodes in an order drawn by lot, with the far nodes, which have room. The exact model on so
few nodes is solved in a moment, and what it finds is taken if it is better in loss, then in moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ecotone.model.arrays import Ints
from ecotone.model.draw import draws, hash_texts
from ecotone.placement.exact.milp import lexicographic
from ecotone.placement.qos.model import CountsModel
from ecotone.placement.qos.problem import Problem

Stop = Callable[[], bool]
_GAP = 1e-3
SIZES = (1, 2, 3, 4, 4, 6, 6)


def improved(
    problem: Problem, x: Ints, *, sizes: Sequence[int] = SIZES, seconds: float = 1.0, stop: Stop = lambda: False
) -> Ints:
    """The best found in one pass over all near nodes per size; `seconds` limits the solver in one neighbourhood."""
    best, value = x, _value(problem, x)
    for chosen in _neighbourhoods(problem, sizes):
        if stop() or value[1] <= 1e-9:
            break
        found = _repacked(problem, best, chosen, seconds)
        if found is not None and not problem.violations(found):
            reached = _value(problem, found)
            if reached < value:
                best, value = found, reached
    return best


def _value(problem: Problem, x: Ints) -> tuple[int, float, int]:
    missing = int((problem.pods - x.sum(axis=1)).sum())
    moves = problem.moves(x)
    return missing, round(problem.loss(x) + problem.move_cost * moves, 6), moves


def _neighbourhoods(problem: Problem, sizes: Sequence[int]) -> Iterator[Ints]:
    """Each pass takes every near node once, so many at a time; single nodes gain most in least time and come first."""
    near, far = np.flatnonzero(problem.near), np.flatnonzero(~problem.near)
    names = hash_texts(str(node) for node in near.tolist())
    for number, size in enumerate(sizes):
        order = near[np.argsort(draws(seed=number, uid="neighbourhood", names=names), kind="stable")]
        for start in range(0, len(order), size):
            yield np.sort(np.concatenate((order[start : start + size], far)))


def _repacked(problem: Problem, x: Ints, nodes: Ints, seconds: float) -> Ints | None:
    """Services without a pod here and without a loss have nothing to say."""
    here = problem.losses(x) > 0.0
    here |= x[:, nodes[problem.near[nodes]]].any(axis=1) | (x.sum(axis=1) < problem.pods)
    services = np.flatnonzero(here)
    part = problem.part(x, nodes=nodes, services=services)
    model = CountsModel(part, with_moves=problem.counts_moves, with_fit=False)
    now = x[np.ix_(services, nodes)]
    known = [float((part.pods - now.sum(axis=1)).sum()), part.loss(now) + part.move_cost * part.moves(now)]
    outcome = lexicographic(
        model.model, [model.unplaced(), model.loss()], known=known, time_limit=2 * seconds, gap=_GAP
    )
    if outcome.x is None:
        return None
    found = x.copy()
    found[np.ix_(services, nodes)] = model.counts(outcome.x)
    return found
