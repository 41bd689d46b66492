"""NodeResourcesFit: what the pod requests must be free; scored by how much is left, or taken, afterwards.

Requests count as kube-scheduler counts them (`PodSpec.requests` is effective). Scores use the non-zero requests of CPU and
memory (100m, 200Mi for a container that asks for nothing), in whole numbers, by one of three strategies with the names and
arguments they have in Kubernetes: LeastAllocated (the default), MostAllocated, RequestedToCapacityRatio (`scoringStrategy`).
Extended resources named in `ignoredResources`, or of a group in `ignoredResourceGroups`, are not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.columns.nodes import BASE_RESOURCES, NodeTable
from ecotone.model.errors import InputError, did_you_mean
from ecotone.model.objects import Node, Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection, pick

TOO_MANY_PODS = "Too many pods"
INSUFFICIENT = "Insufficient {}"
MAX = 100
MAX_SHAPE_SCORE = 10
_LIKE_CPU = {"cpu": "CPU"}

Weights = tuple[tuple[str, int], ...]
_EVENLY: Weights = (("cpu", 1), ("memory", 1))
_SHARES, _NONZERO = "scored resources", "scored resources, non-zero"


class Judge(NamedTuple):
    """(asked, capacity) -> 0..100, for many rows (it may work in the place of `asked`) and for one, the same figures."""

    many: Callable[[Ints, Ints], Ints]
    one: Callable[[int, int], int]


class NodeResourcesFit:
    name = "NodeResourcesFit"
    placement_changes: Change | None = "row"

    def __init__(
        self,
        *,
        scoringStrategy: Mapping[str, Any] | None = None,
        ignoredResources: Iterable[str] = (),
        ignoredResourceGroups: Iterable[str] = (),
    ) -> None:
        strategy = dict(scoringStrategy or {})
        self.weights = read_weights(strategy.get("resources"))
        self.strategy = strategy.get("type", "LeastAllocated")
        self.judge = _judge(self.strategy, strategy.get("requestedToCapacityRatio") or {})
        self.ignored = frozenset(ignoredResources)
        self.ignored_groups = frozenset(ignoredResourceGroups)

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        nodes, usage = cycle.state.nodes, cycle.state.usage
        if len(rows) == 1:
            return np.array([self._fits_at(cycle, int(rows[0]))])
        ok: Mask = pick(usage.pod_count, rows, cycle) < pick(nodes.max_pods, rows, cycle)
        for resource, amount in self.wanted(cycle.pod):
            column = nodes.column(resource)
            if column is None:
                return np.zeros(len(rows), dtype=np.bool_)
            free = pick(nodes.allocatable[:, column], rows, cycle) - pick(usage.requested[:, column], rows, cycle)
            ok &= free >= amount
        return ok

    def _fits_at(self, cycle: Cycle, row: int) -> bool:
        """One row, as every further replica of a batch asks."""
        nodes, usage = cycle.state.nodes, cycle.state.usage
        if usage.pod_count.item(row) >= nodes.max_pods.item(row):
            return False
        for column, amount in self._wanted_columns(cycle):
            if column is None or nodes.allocatable.item(row, column) - usage.requested.item(row, column) < amount:
                return False
        return True

    def _wanted_columns(self, cycle: Cycle) -> list[tuple[int | None, int]]:
        """Where what must be free is found: the same for every replica."""
        known: list[tuple[int | None, int]] | None = cycle.scratch.get(self.name)
        if known is None:
            column = cycle.state.nodes.column
            known = cycle.scratch[self.name] = [(column(name), amount) for name, amount in self.wanted(cycle.pod)]
        return known

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        nodes, usage = cycle.state.nodes, cycle.state.usage
        found = [(pick(usage.pod_count, rows, cycle) >= pick(nodes.max_pods, rows, cycle), TOO_MANY_PODS)]
        hopeless = np.zeros(len(rows), dtype=np.bool_)
        for resource, amount in self.wanted(cycle.pod):
            column = nodes.column(resource)
            if column is None:
                short = np.ones(len(rows), dtype=np.bool_)
                hopeless |= short
            else:
                capacity = pick(nodes.allocatable[:, column], rows, cycle)
                short = capacity - pick(usage.requested[:, column], rows, cycle) < amount
                hopeless |= capacity < amount
            found.append((short, INSUFFICIENT.format(resource)))
        # One resource the node is too small for makes the whole verdict on that node final.
        return [
            Rejection(mask & part, reason, final)
            for mask, reason in found
            for part, final in ((hopeless, True), (~hopeless, False))
        ]

    def wanted(self, pod: Pod) -> list[tuple[str, int]]:
        """What must be free for the pod."""
        return [(name, amount) for name, amount in pod.spec.requests if amount > 0 and not self._ignores(name)]

    def _ignores(self, resource: str) -> bool:
        if not is_extended(resource):
            return False
        return resource in self.ignored or resource.partition("/")[0] in self.ignored_groups

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        if len(rows) == 1:
            return np.array([self._score_at(cycle, int(rows[0]))], dtype=np.int64)
        by_shape = self.strategy == "RequestedToCapacityRatio"
        total = np.zeros(len(rows), dtype=np.int64)
        weights: Ints | int = 0
        for share in shares(cycle, rows, self.weights, nonzero=True):
            points = self.judge.many(share.taken + share.asked, share.capacity)
            if share.missing is not None or by_shape:
                counts = points > 0 if by_shape else np.ones(len(rows), dtype=np.bool_)
                counts = counts if share.missing is None else counts & ~share.missing
                points *= counts
                weights = weights + counts * share.weight
            else:
                weights = weights + share.weight
            total += points * share.weight if share.weight != 1 else points
        if by_shape:
            return half_up(total / np.maximum(weights, 1))
        total //= np.maximum(weights, 1)
        return total

    def _score_at(self, cycle: Cycle, row: int) -> int:
        """One row, as every further replica of a batch asks: whole arrays would cost more than the sums."""
        by_shape = self.strategy == "RequestedToCapacityRatio"
        total = weights = 0
        for weight, capacity, taken, asked in shares_at(cycle, row, self.weights, nonzero=True):
            points = self.judge.one(taken + asked, capacity)
            if points > 0 or not by_shape:
                total += points * weight
                weights += weight
        if by_shape:
            return int(half_up(np.float64(total / max(weights, 1))))
        return total // max(weights, 1)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        names = _and([_LIKE_CPU.get(name, name) for name, _ in self.weights])
        match self.strategy:
            case "LeastAllocated":
                return f"{raw:.0f} % of {names} left"
            case "MostAllocated":
                return f"{raw:.0f} % of {names} taken"
        return f"{raw:.0f} by the shape, for {names} taken"

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            return self._could_hold(event.new, pod) and (
                not isinstance(event.old, Node) or self._grew(event.old, event.new, pod)
            )
        if isinstance(event.new, Pod):
            return event.new.key == pod.key or self._shrank(event.old, event.new, pod)
        return event.action == "delete" and isinstance(event.old, Pod) and event.old.node is not None

    def _could_hold(self, node: Node, pod: Pod) -> bool:
        return all(node.allocatable.get(name, 0) >= amount for name, amount in self.wanted(pod))

    def _grew(self, old: Node, new: Node, pod: Pod) -> bool:
        names = ["pods", *(name for name, _ in self.wanted(pod))]
        return any(new.allocatable.get(name, 0) > old.allocatable.get(name, 0) for name in names)

    def _shrank(self, old: object | None, new: Pod, pod: Pod) -> bool:
        if not isinstance(old, Pod) or new.node is None:
            return False
        return any(new.spec.request(name) < old.spec.request(name) for name, _ in self.wanted(pod))


def _and(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def read_weights(resources: Sequence[Mapping[str, Any]] | None) -> Weights:
    """`resources: [{name, weight}]` of a scoring strategy; CPU and memory alike without it."""
    if resources is None:
        return _EVENLY
    try:
        weights = tuple((str(each["name"]), int(each.get("weight", 1))) for each in resources)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"resources of a scoring strategy: {error}", hint="a list of {name, weight}") from error
    if not weights or any(not 1 <= weight <= MAX for _, weight in weights):
        raise InputError(f"resources of a scoring strategy need a weight from 1 to {MAX} each")
    return weights


class Share(NamedTuple):
    """One scored resource over some rows: what there is, what is taken, and what the pod adds.

    `missing` marks rows that have none of it (None: all have some); their capacity reads 1, so that it can divide.
    """

    weight: int
    capacity: Ints
    missing: Mask | None
    taken: Ints
    asked: int


def shares(cycle: Cycle, rows: Rows, weights: Weights, *, nonzero: bool) -> Iterator[Share]:
    """The resources that count for the pod: an extended one only if it asks for it."""
    nodes, usage, spec = cycle.state.nodes, cycle.state.usage, cycle.pod.spec
    for resource, weight in weights:
        column = nodes.column(resource)
        asked = spec.request(resource)
        if column is None or (asked == 0 and resource not in BASE_RESOURCES):
            continue
        taken = usage.requested
        if nonzero and column < 2:
            taken, asked = usage.nonzero, spec.nonzero[column]
        capacity, missing = _capacity(nodes, column)
        yield Share(
            weight,
            pick(capacity, rows, cycle),
            None if missing is None else pick(missing, rows, cycle),
            pick(taken[:, column], rows, cycle),
            asked,
        )


def shares_at(cycle: Cycle, row: int, weights: Weights, *, nonzero: bool) -> list[tuple[int, int, int, int]]:
    """The same on one row, without resources it has none of: weight, capacity, taken, asked."""
    capacities, usage = cycle.state.nodes.allocatable, cycle.state.usage
    found = []
    for weight, column, asked, stand_in in _asked_columns(cycle, weights, nonzero=nonzero):
        capacity = capacities.item(row, column)
        if capacity > 0:
            taken = usage.nonzero if stand_in else usage.requested
            found.append((weight, capacity, taken.item(row, column), asked))
    return found


def _asked_columns(cycle: Cycle, weights: Weights, *, nonzero: bool) -> list[tuple[int, int, int, bool]]:
    """Weight, column, what the pod asks for, and whether non-zero requests stand in: the same for every replica."""
    key = f"{_SHARES} {weights} {nonzero}" if weights is not _EVENLY else _NONZERO if nonzero else _SHARES
    known: list[tuple[int, int, int, bool]] | None = cycle.scratch.get(key)
    if known is None:
        nodes, spec = cycle.state.nodes, cycle.pod.spec
        known = cycle.scratch[key] = []
        for resource, weight in weights:
            column, asked = nodes.column(resource), spec.request(resource)
            if column is None or (asked == 0 and resource not in BASE_RESOURCES):
                continue
            stand_in = nonzero and column < 2
            known.append((weight, column, spec.nonzero[column] if stand_in else asked, stand_in))
    return known


def _capacity(nodes: NodeTable, column: int) -> tuple[Ints, Mask | None]:
    def compute(table: NodeTable) -> tuple[Ints, Mask | None]:
        capacity = np.ascontiguousarray(table.allocatable[:, column])
        missing = capacity <= 0
        return np.maximum(capacity, 1), missing if missing.any() else None

    return nodes.derived(("capacity", column), compute)


def is_extended(resource: str) -> bool:
    """A resource somebody's device plugin announces, not one of Kubernetes' own."""
    return "/" in resource and "kubernetes.io/" not in resource


def half_up(values: Any) -> Ints:
    """Rounded half away from zero, as Go rounds; for values that are not negative."""
    whole = np.floor(values)
    whole += values - whole >= 0.5
    rounded: Ints = whole.astype(np.int64)
    return rounded


def _judge(strategy: str, ratio: Mapping[str, Any]) -> Judge:
    match strategy:
        case "LeastAllocated":
            return Judge(_least, lambda asked, capacity: max(capacity - asked, 0) * MAX // capacity)
        case "MostAllocated":
            return Judge(_most, lambda asked, capacity: min(asked, capacity) * MAX // capacity)
        case "RequestedToCapacityRatio":
            return _ratio(ratio.get("shape") or ())
    known = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    raise InputError(f"unknown scoring strategy {strategy!r}", hint=did_you_mean(strategy, known) or ", ".join(known))


def _least(asked: Ints, capacity: Ints) -> Ints:
    return _percent(np.maximum(np.subtract(capacity, asked, out=asked), 0, out=asked), capacity)


def _most(asked: Ints, capacity: Ints) -> Ints:
    return _percent(np.minimum(asked, capacity, out=asked), capacity)


def _percent(part: Ints, whole: Ints) -> Ints:
    """How many whole hundredths; works in the place of `part`."""
    part *= MAX
    part //= whole
    return part


def _ratio(shape: Sequence[Mapping[str, Any]]) -> Judge:
    """A broken line through the shape's points, looked up by the percentage in use."""
    try:
        points = [(int(each["utilization"]), int(each["score"]) * (MAX // MAX_SHAPE_SCORE)) for each in shape]
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"shape of requestedToCapacityRatio: {error}", hint="{utilization, score} pairs") from error
    if not points or any(one[0] >= two[0] for one, two in pairwise(points)):
        raise InputError("requestedToCapacityRatio needs a shape with points of rising utilization")
    if not all(0 <= use <= MAX and 0 <= score <= MAX for use, score in points):
        raise InputError(f"a shape's utilization is 0..{MAX}, its score 0..{MAX_SHAPE_SCORE}")
    table = np.array([_on_line(points, percent) for percent in range(MAX + 1)], dtype=np.int64)

    return Judge(
        lambda asked, capacity: table[_most(asked, capacity)],
        lambda asked, capacity: int(table[min(asked, capacity) * MAX // capacity]),
    )


def _on_line(points: Sequence[tuple[int, int]], percent: int) -> int:
    before: tuple[int, int] | None = None
    for use, score in points:
        if percent <= use:
            if before is None:
                return score
            rise, run = (score - before[1]) * (percent - before[0]), use - before[0]
            # Whole-number division drops the fraction towards zero, downhill too.
            return before[1] + (abs(rise) // run) * (1 if rise >= 0 else -1)
        before = (use, score)
    return points[-1][1]
