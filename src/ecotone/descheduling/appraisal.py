"""One running pod, judged as if it were removed first: what it costs where it is, and what it would cost elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cost, Cycle


@dataclass(frozen=True, slots=True)
class Appraisal:
    """`gain` > 0: the scheduler's own choice beats the present place by this much."""

    pod: Pod
    target: str
    here: float
    there: float
    unit: str

    @property
    def gain(self) -> float:
        return self.here - self.there

    @property
    def relative_gain(self) -> float:
        return self.gain / abs(self.here) if self.here else 0.0


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


def _compare(framework: Framework, state: ClusterState, pod: Pod, row: int) -> Appraisal | None:
    evaluation = Evaluation(framework, Cycle(state, replace(pod, node=None, bound_at=None)))
    if evaluation.refusal is not None or not evaluation.ok[row] or len(evaluation.feasible) < 2:
        return None
    best = evaluation.best()
    if best is None or best == row:
        return None
    costs, unit = _costs(evaluation)
    here, there = (float(costs[int(np.searchsorted(evaluation.feasible, each))]) for each in (row, best))
    if not here > there:
        return None
    return Appraisal(pod, state.nodes.names[best], here, there, unit)


def _costs(evaluation: Evaluation) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], str]:
    """Over the feasible rows: the policy's own cost if it has one, else how far the total is from perfect."""
    plugins = [scorer.plugin for scorer in evaluation.framework.scorers]
    if len(plugins) == 1 and isinstance(plugins[0], Cost):
        return plugins[0].cost(evaluation.cycle, evaluation.feasible), plugins[0].cost_unit
    weight = sum(scorer.weight for scorer in evaluation.framework.scorers)
    return 100.0 * weight - evaluation.total(), "points"
