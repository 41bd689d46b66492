"""An answer for instances too large to be proven: relax, round down, fill up.

The relaxed model keeps a small price on moves, so that among the many fractional optima it prefers those near the present
placement. Rounded down, it leaves holes; they are filled by what gains most per part of the node it takes, and pods that
remain go wherever they cost least.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact.milp import Objective
from ecotone.placement.qos.model import CountsModel
from ecotone.placement.qos.problem import ROUNDING, Problem

_NEARNESS = 1e-4  # of the largest latency: the price of a move in the relaxed model


def relaxed(problem: Problem, *, time_limit: float | None = None) -> tuple[float, Floats | None]:
    """A bound on the loss, and fractional counts near the present placement."""
    model = CountsModel(problem, with_fit=False)
    plain, moves = model.loss(), model.moves()
    price = _NEARNESS * max(1.0, float(problem.latency.max(initial=1.0))) / max(1, int(problem.pods.sum()))
    # A pod that is left out costs more than any latency could save.
    out = np.full(len(model.unplaced().columns), 1e3 * max(1.0, float(problem.latency.max(initial=1.0))))
    objective = Objective(
        "relaxed",
        np.concatenate((plain.columns, moves.columns, model.unplaced().columns)),
        np.concatenate((plain.coefficients, moves.coefficients * price, out)),
        integral=False,
        constant=plain.constant,
    )
    value, solved = model.model.relaxation(objective, time_limit=time_limit)
    if solved is None:
        return 0.0, None
    # Whatever the optimum moves, it pays at most this price for it; what cannot be placed is no loss of the bound.
    most = price * float(problem.current.sum()) + float(out @ solved[model.unplaced().columns])
    return max(0.0, value - most), model.fractions(solved)


def rounded(problem: Problem, fractions: Floats) -> Ints:
    """Whole counts that keep every limit on capacity."""
    x = np.floor(fractions + 1e-6).astype(np.int64)
    x = np.maximum(x, np.minimum(problem.fixed, problem.pods[:, None]))
    return fill(problem, x)


def fill(problem: Problem, x: Ints) -> Ints:
    """Pods that are nowhere yet, one by one: the best gain per room first, then wherever they cost least."""
    filling = _Filling(problem, x)
    while filling.step():
        pass
    return filling.x


class _Filling:
    """Gain per service and node; a placement changes one row (the service's loss) and one column (the node's room)."""

    def __init__(self, problem: Problem, x: Ints) -> None:
        self.x = x.copy()
        self._problem = problem
        self._free = problem.capacity * (1.0 + ROUNDING) - problem.used(self.x)
        self._left = problem.pods - self.x.sum(axis=1)
        share = problem.size / np.maximum(problem.capacity.max(axis=0), ROUNDING)
        self._dominant = np.maximum(share.max(axis=1), ROUNDING)
        pods = np.maximum(problem.pods, 1)
        self._saved = (problem.worst[:, None] - problem.latency) * (problem.weight / pods)[:, None]
        self._fits = problem.allowed & np.array(
            [(problem.size <= self._free[node]).all(axis=1) for node in range(problem.nodes)]
        ).T.reshape(problem.allowed.shape)
        self._value = np.full(self.x.shape, -np.inf)
        for service in np.flatnonzero(self._left > 0).tolist():
            self._judge(service)

    def _judge(self, service: int) -> None:
        """Its old places cost no move, and at equal gain what costs least of what is over target counts."""
        problem, own = self._problem, slice(service, service + 1)
        if self._left[service] <= 0:
            self._value[service] = -np.inf
            return
        missing = problem.pods[service] - self.x[service].sum()
        total = float(self.x[service] @ problem.latency[service]) + missing * problem.worst[service]
        loss = problem.weight[service] * max(0.0, total / problem.pods[service] - problem.target[service])
        gain = np.minimum(self._saved[own], loss)[0] / self._dominant[service]
        gain += 1e-6 * (self.x[service] < problem.current[service]) + 1e-9 * self._saved[service]
        self._value[service] = np.where(self._fits[service], gain, -np.inf)

    def step(self) -> bool:
        if not self._value.size:
            return False
        service, node = divmod(int(np.argmax(self._value)), self.x.shape[1])
        if self._value[service, node] == -np.inf:
            return False
        self.x[service, node] += 1
        self._left[service] -= 1
        self._free[node] -= self._problem.size[service]
        shut = self._fits[:, node] & ~(self._problem.size <= self._free[node]).all(axis=1)
        self._fits[shut, node] = False
        self._value[shut, node] = -np.inf
        self._judge(service)
        return True
