"""A thin layer over HiGHS: variables and rows by the array, objectives one after the other.

Lexicographic objectives are solved as stages: the optimum of each becomes a constraint of the next. A known solution
(the heuristic's) is used in three ways, since the solver takes no starting point: its value bounds each stage from
above as long as it is optimal in all earlier ones; a stage whose known value already equals a proven bound is not
solved at all; and when the time runs out, what is reported is the better of the two. The clock is the caller's,
because this package has none.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Literal

import numpy as np
import numpy.typing as npt

from ecotone.model.arrays import Floats, Ints

Status = Literal["optimal", "time limit", "infeasible"]
Clock = Callable[[], float]

EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class Objective:
    """Minimise coefficients . x; `integral` says all values are integers.

    `lower` is a bound known without solving; `lower_after` one that follows from the values of the objectives before.
    """

    name: str
    columns: Ints
    coefficients: Floats
    integral: bool = True
    lower: float = 0.0
    constant: float = 0.0
    lower_after: Callable[[Sequence[float]], float] | None = None

    def after(self, values: Sequence[float]) -> "Objective":
        """The same with what is known of it once the objectives before it have these values."""
        return self if self.lower_after is None else replace(self, lower=max(self.lower, self.lower_after(values)))

    def of(self, x: Floats) -> float:
        value = float(self.coefficients @ x[self.columns]) + self.constant
        return float(round(value)) if self.integral else value


@dataclass(frozen=True, slots=True)
class Stage:
    """What became of one objective: the value reached, the bound proven, and whether they meet."""

    name: str
    value: float | None
    bound: float
    status: Status

    @property
    def gap(self) -> float | None:
        """Relative distance between value and bound; None without a value."""
        if self.value is None:
            return None
        return 0.0 if self.status == "optimal" else abs(self.value - self.bound) / max(1.0, abs(self.value))


@dataclass(frozen=True, slots=True)
class Outcome:
    """`x` is None when the known solution was never beaten (or nothing is feasible: see `infeasible`)."""

    x: Floats | None
    stages: tuple[Stage, ...]
    infeasible: bool = False


class Model:
    """Columns and rows collected as arrays, turned into one sparse matrix per solve."""

    def __init__(self) -> None:
        self._upper: list[Floats] = []
        self._lower: list[Floats] = []
        self._integer: list[npt.NDArray[np.int8]] = []
        self.columns = 0
        self.rows = 0
        self._row: list[Ints] = []
        self._column: list[Ints] = []
        self._value: list[Floats] = []
        self._row_lower: list[Floats] = []
        self._row_upper: list[Floats] = []

    def variables(
        self, count: int, *, upper: float | Floats = 1.0, lower: float | Floats = 0.0, integer: bool = True
    ) -> Ints:
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), count))
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), count))
        self._integer.append(np.full(count, 1 if integer else 0, dtype=np.int8))
        first = self.columns
        self.columns += count
        return np.arange(first, self.columns, dtype=np.int64)

    def constraints(self, count: int, *, lower: float | Floats = -inf, upper: float | Floats = inf) -> Ints:
        self._row_lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), count))
        self._row_upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), count))
        first = self.rows
        self.rows += count
        return np.arange(first, self.rows, dtype=np.int64)

    def entries(self, rows: Ints | int, columns: Ints | int, values: Floats | float) -> None:
        rows, columns = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        shape = np.broadcast_shapes(rows.shape, columns.shape)
        self._row.append(np.broadcast_to(rows, shape).ravel())
        self._column.append(np.broadcast_to(columns, shape).ravel())
        self._value.append(np.broadcast_to(np.asarray(values, dtype=np.float64), shape).ravel())

    def fix(self, columns: Ints, values: Floats) -> None:
        """These columns keep these values."""
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        lower[columns] = upper[columns] = values
        self._lower, self._upper = [lower], [upper]

    def whole_numbers(self, columns: Ints) -> bool:
        """True if all these columns are integers."""
        return bool(np.concatenate(self._integer)[columns].all())

    def fork(self) -> "Model":
        """A copy that grows on its own."""
        twin = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(twin, name, list(value))
        return twin

    def minimise(
        self, objective: Objective, *, time_limit: float | None = None, gap: float = 0.0
    ) -> tuple[Floats | None, Stage]:
        options: dict[str, float] = {"mip_rel_gap": gap}
        if time_limit is not None:
            options["time_limit"] = max(time_limit, 0.01)
        result = self._solve(objective, np.concatenate(self._integer), options)
        return self._interpret(objective, result, gap)

    def relaxation(self, objective: Objective, *, time_limit: float | None = None) -> tuple[float, Floats | None]:
        """The bound that a search starts from, and where it stands.

        Infinite without an x when even fractions find no answer; minus infinite when the time ran out.
        """
        options = {} if time_limit is None else {"time_limit": max(time_limit, 0.01)}
        result = self._solve(objective, np.zeros(self.columns, dtype=np.int8), options)
        x: Floats | None = getattr(result, "x", None)
        status = int(getattr(result, "status", 4))
        if status != 0 or x is None:
            return (inf if status == 2 else -inf), None
        return float(objective.coefficients @ x[objective.columns]) + objective.constant, x

    def _solve(self, objective: Objective, integrality: npt.NDArray[np.int8], options: dict[str, float]) -> object:
        # Half a second of imports: only for those who solve, not for everybody who could.
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        cost = np.zeros(self.columns)
        np.add.at(cost, objective.columns, objective.coefficients)
        matrix = csr_array(
            (np.concatenate(self._value), (np.concatenate(self._row), np.concatenate(self._column))),
            shape=(self.rows, self.columns),
        )
        return milp(
            cost,
            integrality=integrality,
            bounds=Bounds(np.concatenate(self._lower), np.concatenate(self._upper)),
            constraints=LinearConstraint(matrix, np.concatenate(self._row_lower), np.concatenate(self._row_upper)),
            options=options,
        )

    def _interpret(self, objective: Objective, result: object, gap: float) -> tuple[Floats | None, Stage]:
        status = int(getattr(result, "status", 4))
        x: Floats | None = getattr(result, "x", None)
        if status == 2:
            return None, Stage(name=objective.name, value=None, bound=inf, status="infeasible")
        dual = getattr(result, "mip_dual_bound", None)
        bound = objective.lower if dual is None or not np.isfinite(dual) else float(dual) + objective.constant
        value = None if x is None else float(objective.coefficients @ x[objective.columns]) + objective.constant
        if objective.integral:
            bound = ceil(bound - EPSILON)
            value = None if value is None else float(round(value))
        bound = max(bound, objective.lower)
        if value is not None and status == 0 and gap == 0.0:
            bound = value
        proven = value is not None and value <= bound + EPSILON * max(1.0, abs(bound))
        return x, Stage(name=objective.name, value=value, bound=bound, status="optimal" if proven else "time limit")

    def limit(self, objective: Objective, value: float) -> None:
        """From here on the objective may not exceed the value."""
        room = 1e-3 if objective.integral else EPSILON * max(1.0, abs(value))
        row = self.constraints(1, upper=value - objective.constant + room)
        self.entries(row, objective.columns, objective.coefficients)


def lexicographic(
    model: Model,
    objectives: Sequence[Objective],
    *,
    known: Sequence[float] | None = None,
    time_limit: float | None = None,
    clock: Clock | None = None,
    gap: float = 0.0,
    report: Callable[[Stage], None] | None = None,
    polish: Callable[[Floats], Sequence[float] | None] | None = None,
) -> Outcome:
    """Minimises the objectives in order of importance.

    `polish` derives a better solution from the solver's where it can and returns its values; what it derived is the
    caller's to rebuild.

    `known` are the values of a solution at hand. A stage may use its share of the time that is left, so the time an easy
    one leaves over goes to the hard ones; without a clock every stage has the same share.
    """
    begin = clock() if clock is not None else 0.0
    stages: list[Stage] = []
    incumbent: Floats | None = None
    have: Sequence[float] | None = known
    for k, given in enumerate(objectives):
        objective = given.after([stage.value or 0.0 for stage in stages])
        if have is not None:
            model.limit(objective, have[k])
            if have[k] <= objective.lower + EPSILON:
                stages.append(Stage(name=objective.name, value=have[k], bound=have[k], status="optimal"))
                if report is not None:
                    report(stages[-1])
                continue
        x, stage = model.minimise(objective, time_limit=_share(time_limit, begin, clock, len(objectives), k), gap=gap)
        if have is None and stage.value is None:
            return Outcome(x=None, stages=(*stages, stage), infeasible=stage.status == "infeasible")
        if have is not None and (stage.value is None or stage.value >= have[k] - _slack(objective, have[k])):
            # Nothing better than what was at hand. "Infeasible" here would contradict it, so it proves nothing.
            bound = objective.lower if stage.status == "infeasible" else min(stage.bound, have[k])
            proven = bound >= have[k] - _slack(objective, have[k])
            stage = Stage(name=objective.name, value=have[k], bound=bound, status="optimal" if proven else "time limit")
        else:
            assert x is not None
            incumbent = x
            have = [each.of(x) for each in objectives]
            better = None if polish is None else polish(x)
            if better is not None and list(better) < have:
                have = list(better)
                stage = replace(stage, value=have[k], status="optimal" if have[k] <= stage.bound else stage.status)
            model.limit(objective, have[k])
        stages.append(stage)
        if report is not None:
            report(stage)
    return Outcome(x=incumbent, stages=tuple(stages))


def _slack(objective: Objective, value: float) -> float:
    return 0.5 if objective.integral else EPSILON * max(1.0, abs(value))


def _share(limit: float | None, begin: float, clock: Clock | None, stages: int, done: int) -> float | None:
    if limit is None:
        return None
    if clock is None:
        return limit / stages
    return max((limit - (clock() - begin)) / (stages - done), 0.05)


def whole(x: Floats, columns: Ints) -> Ints:
    """Integer values of a solution; the solver's are whole up to its tolerance."""
    return np.asarray(np.floor(x[columns] + 0.5), dtype=np.int64)
