"""The optimum, stage by stage, proven by the solver."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ecotone.placement.exact.milp import Clock, Objective, Outcome, Stage, lexicographic
from ecotone.placement.qos.model import CountsModel
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.rounding import fill
from ecotone.placement.qos.solution import Solution, solution_of

_FOR_THE_LOSS = 0.9  # of the time


def exact(
    problem: Problem,
    *,
    time_limit: float | None = None,
    clock: Clock | None = None,
    fit: bool = True,
    report: Callable[[Stage], None] | None = None,
) -> Solution | None:
    """None if the time ran out before any answer; a solution that is not `proven` says how far its loss can be off.

    `report` is told of every stage when it ends. With a clock the loss may take nearly all the time there is: a proof of it is
    worth more than fewer moves, which are found in what is left.

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
    if time_limit is None or clock is None:
        outcome = lexicographic(model.model, stages, time_limit=time_limit, clock=clock, report=report)
    else:
        outcome = _loss_before_all(model, stages, time_limit=time_limit, clock=clock, report=report)
    if outcome.x is None:
        return None
    loss = next(stage for stage in outcome.stages if stage.name == "loss")
    return solution_of(problem, model.counts(outcome.x), bound=loss.bound, proven=loss.status == "optimal")


def _loss_before_all(
    model: CountsModel,
    stages: Sequence[Objective],
    *,
    time_limit: float,
    clock: Clock,
    report: Callable[[Stage], None] | None,
) -> Outcome:
    end = clock() + time_limit
    which = next(number for number, stage in enumerate(stages) if stage.name == "loss") + 1
    first = lexicographic(
        model.model, stages[:which], time_limit=_FOR_THE_LOSS * time_limit, clock=clock, report=report
    )
    if first.x is None:
        return first
    known = [stage.of(first.x) for stage in stages[which:]]
    rest = lexicographic(
        model.model, stages[which:], known=known, time_limit=max(0.0, end - clock()), clock=clock, report=report
    )
    return Outcome(first.x if rest.x is None else rest.x, (*first.stages, *rest.stages))
