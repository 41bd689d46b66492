"""The optimum, stage by stage, proven by the solver."""

from __future__ import annotations

import numpy as np

from ecotone.placement.exact.milp import Clock, lexicographic
from ecotone.placement.qos.model import CountsModel
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.rounding import fill
from ecotone.placement.qos.solution import Solution, solution_of


def exact(
    problem: Problem, *, time_limit: float | None = None, clock: Clock | None = None, fit: bool = True
) -> Solution | None:
    """None if the time ran out before any answer; a solution that is not `proven` says how far its loss can be off.

    Where the present placement has room for everything, the solver is spared the question what can be placed.
    """
    model = CountsModel(problem, with_fit=fit)
    stages = [model.loss(), model.moves(), *([model.misfit()] if fit else [])]
    start = fill(problem, np.minimum(problem.current, problem.pods[:, None]))
    if problem.violations(start) or (start.sum(axis=1) < problem.pods).any():
        stages.insert(0, model.unplaced())
    else:
        nobody = model.unplaced().columns
        model.model.fix(nobody, np.zeros(len(nobody)))
    outcome = lexicographic(model.model, stages, time_limit=time_limit, clock=clock)
    if outcome.x is None:
        return None
    loss = next(stage for stage in outcome.stages if stage.name == "loss")
    return solution_of(problem, model.counts(outcome.x), bound=loss.bound, proven=loss.status == "optimal")
