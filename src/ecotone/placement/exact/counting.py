"""Branching on how many hosts of each size are in use, before the solver is asked.

Relaxations like 48.25 large hosts and 9.75 small ones: cheap, and far from any answer with 48 or 49. No single host is to
blame, so a solver that branches on single hosts takes long to find out. Here the count itself is decided: where one side of
a fractional count is worse by a wide margin, the search goes on in the other and the first waits; mostly its bound
turns out to be no better than the answer found, and it is never searched.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, floor, gcd, inf

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.milp import Clock, Model, Objective, Stage

MARGIN = 0.02
MOST_SIZES = 12
SHARE_EACH = 0.05
WHOLE = 1e-4


def minimise_by_counts(
    model: Model,
    objective: Objective,
    sizes: Sequence[Ints],
    *,
    time_limit: float | None,
    gap: float,
    clock: Clock | None,
) -> tuple[Floats | None, Stage]:
    """The model's optimum; `sizes` are the columns of hosts that are alike."""
    begin = clock() if clock is not None else 0.0
    search, waiting = _decide(model, objective, sizes, None if time_limit is None else time_limit * SHARE_EACH)

    def left() -> float | None:
        if time_limit is None or clock is None:
            return None if time_limit is None else time_limit / (1 + len(waiting))
        return max(time_limit - (clock() - begin), 0.05)

    x, stage = search.minimise(objective, time_limit=left(), gap=gap)
    closest = max(step(model, objective) - WHOLE, WHOLE)
    for bound, side in sorted(waiting, key=lambda each: each[0]):
        if stage.value is not None:
            if bound > stage.value - closest:
                continue
            side.limit(objective, stage.value)
        other, found = side.minimise(objective, time_limit=left(), gap=gap)
        found = replace(found, bound=max(found.bound, bound))
        if found.value is not None and (stage.value is None or found.value < stage.value):
            x, stage = other, replace(found, bound=min(found.bound, stage.bound))
        else:
            stage = replace(stage, bound=min(stage.bound, found.bound))
        if stage.value is not None:
            proven = stage.value <= stage.bound + WHOLE
            stage = replace(stage, status="optimal" if proven else "time limit")
    return x, stage


def _decide(
    model: Model, objective: Objective, sizes: Sequence[Ints], seconds_each: float | None
) -> tuple[Model, list[tuple[float, Model]]]:
    """Where to search, and what was set aside with the bound it has."""
    waiting: list[tuple[float, Model]] = []
    if len(sizes) > MOST_SIZES:
        return model, waiting
    value, x = model.relaxation(objective, time_limit=seconds_each)
    for _ in range(2 * len(sizes)):
        if x is None:
            break
        chosen = _widest(model, objective, sizes, (value, x), seconds_each)
        if chosen is None:
            break
        (value, x, model), (bound, _, side) = chosen
        if bound < inf:
            waiting.append((bound, side))
    return model, waiting


Side = tuple[float, Floats | None, Model]


def _widest(
    model: Model, objective: Objective, sizes: Sequence[Ints], start: tuple[float, Floats], seconds_each: float | None
) -> tuple[Side, Side] | None:
    """The count whose worse side is farthest off, the better side first; None when no side is far off."""
    value, x = start
    best: tuple[Side, Side] | None = None
    for columns in sizes:
        count = float(x[columns].sum())
        if abs(count - round(count)) <= WHOLE:
            continue
        few, many = model.fork(), model.fork()
        few.entries(few.constraints(1, upper=float(floor(count))), columns, 1.0)
        many.entries(many.constraints(1, lower=float(ceil(count))), columns, 1.0)
        sides: list[Side] = [(*each.relaxation(objective, time_limit=seconds_each), each) for each in (few, many)]
        near, far = sorted(sides, key=lambda side: side[0])
        told = near[0] > -inf
        if told and far[0] > value + MARGIN * abs(value) and (best is None or far[0] > best[1][0]):
            best = near, far
    return best


def step(model: Model, objective: Objective) -> float:
    """No two values of the objective are closer than this; 0 when nothing is known."""
    whole = np.rint(objective.coefficients)
    if len(whole) and np.array_equal(whole, objective.coefficients) and model.whole_numbers(objective.columns):
        return float(gcd(*(int(each) for each in np.unique(whole))))
    return 0.0
