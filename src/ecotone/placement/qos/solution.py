"""What a solver answers: counts, their figures, and how far from the optimum they can be at most."""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.model.arrays import Ints
from ecotone.placement.qos.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """`bound` is below every possible loss (plus hysteresis); `proven` says that the loss meets it."""

    x: Ints
    unplaced: int
    loss: float
    moves: int
    fit: float
    bound: float
    proven: bool

    @property
    def gap(self) -> float:
        return 0.0 if self.proven or self.loss <= self.bound else (self.loss - self.bound) / max(self.bound, 1e-9)

    @property
    def rank(self) -> tuple[int, float, int, float]:
        return self.unplaced, round(self.loss, 6), self.moves, -round(self.fit, 6)


def solution_of(problem: Problem, x: Ints, *, bound: float = 0.0, proven: bool = False) -> Solution:
    return Solution(
        x=x,
        unplaced=int((problem.pods - x.sum(axis=1)).sum()),
        loss=problem.loss(x),
        moves=problem.moves(x),
        fit=problem.fit(x),
        bound=bound,
        proven=proven,
    )
