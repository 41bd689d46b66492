"""One call for every size: proven where that takes a moment, close to the bound where it does not."""

from __future__ import annotations

import numpy as np

from ecotone.placement.exact.milp import Clock
from ecotone.placement.qos.exact import exact
from ecotone.placement.qos.neighbourhood import improved
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.rounding import fill, relaxed, rounded
from ecotone.placement.qos.solution import Solution, solution_of

SMALL = 500  # services times nodes that are solved to the end


def solve(problem: Problem, *, time_limit: float | None = None, clock: Clock | None = None) -> Solution:
    """Without a clock the answer depends on the instance alone: passes over the nodes are counted instead of seconds."""
    if problem.services * problem.nodes <= SMALL:
        found = exact(problem, time_limit=time_limit, clock=clock)
        if found is not None:
            return found
    return heuristic(problem, time_limit=time_limit, clock=clock)


def heuristic(problem: Problem, *, time_limit: float | None = None, clock: Clock | None = None) -> Solution:
    end = None if clock is None or time_limit is None else clock() + time_limit
    bound, fractions = relaxed(problem, time_limit=time_limit)
    stay = fill(problem, np.minimum(problem.current, problem.pods[:, None]))
    candidates = [stay] if fractions is None else [stay, rounded(problem, fractions)]
    kept = [x for x in candidates if not problem.violations(x)] or [stay]
    start = min(kept, key=lambda x: (problem.loss(x) + problem.move_cost * problem.moves(x), problem.moves(x)))
    x = improved(problem, start, stop=lambda: end is not None and clock is not None and clock() >= end)
    return solution_of(problem, x, bound=bound, proven=problem.loss(x) <= bound + 1e-6)
