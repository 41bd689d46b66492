"""One running pod, judged as if it were removed first: what it costs where it is, and what it would cost elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import COUNTS_WAITING, Cycle
from ecotone.scheduling.redundancy.choice import stay_redundant


@dataclass(frozen=True, slots=True)
class Appraisal:
    """`gain` > 0: the best place by the score beats the present one by this much.

    `here` and `there` are costs; where points are counted, what is missing to a `perfect` score, which is then given.
    `waiting`: how much of the gain is shorter waiting for CPU.
    """

    pod: Pod
    target: str
    here: float
    there: float
    unit: str
    perfect: float | None = None
    waiting: float = 0.0

    @property
    def gain(self) -> float:
        return self.here - self.there

    @property
    def relative_gain(self) -> float:
        return self.gain / abs(self.here) if self.here else 0.0

    def sentence(self) -> str:
        here, there, unit = self.here, self.there, self.unit
        if self.perfect is not None:
            return (
                f"scores {self.perfect - there:.4g} on {self.target} and {self.perfect - here:.4g} on {self.pod.node}"
            )
        costs = f"costs {here:.4g} {unit} on {self.pod.node} and {there:.4g} {unit} on {self.target}"
        return f"{costs}: {self.relative_gain:.0%} less"


def appraise(framework: Framework, state: ClusterState, pod: Pod) -> Appraisal | None:
    """None if the pod's place is the best there is, or is itself no longer a place the filters allow."""
    row = state.nodes.index.get(pod.node or "")
    if row is None:
        return None
    state.lift(pod.key)
    try:
        return _compare(framework, state, pod, row)
    finally:
        state.put_pod(pod)


def cost_here(framework: Framework, state: ClusterState, pod: Pod) -> float | None:
    """What the pod costs at its present place; None if that is no place the filters allow."""
    row = state.nodes.index.get(pod.node or "")
    if row is None:
        return None
    state.lift(pod.key)
    try:
        evaluation = Evaluation(framework, Cycle(state, replace(pod, node=None, bound_at=None)))
        if not evaluation.fits(row):
            return None
        costs = _costs(evaluation)[0]
        return float(costs[int(np.searchsorted(evaluation.feasible, row))])
    finally:
        state.put_pod(pod)


def _compare(framework: Framework, state: ClusterState, pod: Pod, row: int) -> Appraisal | None:
    evaluation = Evaluation(framework, Cycle(state, replace(pod, node=None, bound_at=None)))
    if not evaluation.fits(row):
        return None
    stay_redundant(evaluation, row)
    if len(evaluation.feasible) < 2:
        return None
    best = evaluation.best()
    if best is None or best == row:
        return None
    costs, unit, perfect = _costs(evaluation)
    here, there = (float(costs[int(np.searchsorted(evaluation.feasible, each))]) for each in (row, best))
    if not here > there:
        return None
    return Appraisal(pod, state.nodes.names[best], here, there, unit, perfect, _less_waiting(evaluation, row, best))


def _less_waiting(evaluation: Evaluation, row: int, best: int) -> float:
    judge = evaluation.framework.cost
    if not COUNTS_WAITING.has(judge):
        return 0.0
    here, there = judge.waiting_cost(evaluation.cycle, np.array([row, best], dtype=np.intp)).tolist()
    return float(here - there)


def _costs(evaluation: Evaluation) -> tuple[Floats, str, float | None]:
    """Over the feasible rows, in the unit of the profile's objective."""
    framework = evaluation.framework
    if framework.cost is not None:
        return framework.cost.cost(evaluation.cycle, evaluation.feasible), framework.cost.cost_unit, None
    perfect = 100.0 * sum(scorer.weight for scorer in framework.scorers)
    return perfect - evaluation.total(), framework.profile.objective.unit, perfect
