"""In which order the pods of a plan go.

A flip takes all but one replica of every workload at once, and the rest when those are Ready; waves take one of each; a
frontier takes whole workloads, callers first. A workload's only replica goes by surge: its replacement is Ready before it
leaves. Which order is best depends on what requests pay meanwhile:

    excess = sum over stages of seconds x (J during the stage - J at the end)

Only what lies within the horizon that a gain is counted over counts: until then a long way has saved what its first stages
save.

The least excess wins among the orders that at no time cost more than now and leave no node busier than `BUSY`; if there is
none, the least excess, and the plan says so.

Where a policy keeps redundancy, no stage may end on fewer nodes or in fewer zones than it began, and those that serve
meanwhile keep what one replica less should have (`Redundant`). A workload that cannot go otherwise goes by surge, one
replica at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ecotone.descheduling.plans.redundant import Redundant
from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.prediction import Prediction

BUSY = 0.9
LOST_MS = 1000.0  # what a request that finds no pod counts for
_SLACK = 1.02  # of the present cost: a difference that nobody notices

Unit = tuple[int, int, int]  # workload, from, to
Stages = tuple[tuple[Unit, ...], ...]


@dataclass(frozen=True, slots=True)
class Spare:
    """Per workload: how many pods may go at a time, and whether replacements come first."""

    pods: Ints
    surge: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Order:
    """`surge`: which workloads go by surge; `lowers`: one of them stands closer together on the way than it should."""

    name: str
    stages: Stages
    excess: float
    safe: bool
    surge: tuple[bool, ...] = ()
    lowers: bool = False


def orders(
    application: CallGraph,
    prediction: Prediction,
    target: Ints,
    spare: Spare,
    *,
    seconds: float,
    horizon: float,
    redundant: Redundant | None = None,
) -> list[Order]:
    """Every order there is, the best first."""
    if redundant is not None:
        spare = Spare(np.minimum(spare.pods, redundant.spared(application.replicas)), spare.surge)
    found: dict[tuple[Stages, tuple[bool, ...]], Order] = {}
    for name, stages in _stagings(application, target, spare):
        going = spare if redundant is None else _surging(stages, application, spare, redundant)
        if going.surge != spare.surge:
            stages = dict(_stagings(application, target, going))[name]  # noqa: PLW2901
        if (stages, going.surge) not in found:
            order = judged(
                name, stages, application, prediction, going, seconds=seconds, horizon=horizon, redundant=redundant
            )
            found[stages, going.surge] = order
    return sorted(
        found.values(), key=lambda each: (each.lowers, not each.safe, each.excess, len(each.stages), each.name)
    )


def _surging(stages: Stages, application: CallGraph, spare: Spare, redundant: Redundant) -> Spare:
    """With those by surge, one pod at a time, that would stand too close together otherwise."""
    if not redundant.surge:
        return spare
    lowered = _lowered(stages, application, spare, redundant)
    surge = tuple(own or bool(lowers) for own, lowers in zip(spare.surge, lowered, strict=True))
    return Spare(np.where(lowered, 1, spare.pods), surge)


def _lowered(stages: Stages, application: CallGraph, spare: Spare, redundant: Redundant) -> Mask:
    during, target = _way(application, stages, spare)
    before, _ = _way(application, stages, Spare(spare.pods, (True,) * len(spare.surge)))
    if not len(before):
        return np.zeros(len(spare.surge), dtype=np.bool_)
    after = np.concatenate([before[1:], target[np.newaxis].astype(np.float64)])
    return redundant.lowered(before, during, after)


def _units(application: CallGraph, target: Ints) -> list[list[Unit]]:
    """Per workload: from where to where, surplus and deficit paired within zones first, else in the order of nodes."""
    found = []
    zones = application.zones.tolist()
    for workload, (here, there) in enumerate(zip(application.counts, target, strict=True)):
        leaves = np.repeat(np.arange(len(here)), np.maximum(here - there, 0)).tolist()
        comes = np.repeat(np.arange(len(here)), np.maximum(there - here, 0)).tolist()
        paired = []
        for place in list(leaves):
            same = next((other for other in comes if zones[other] == zones[place] >= 0), None)
            if same is not None:
                leaves.remove(place)
                comes.remove(same)
                paired.append((workload, place, same))
        found.append(paired + [(workload, a, b) for a, b in zip(leaves, comes, strict=True)])
    return found


def _stagings(application: CallGraph, target: Ints, spare: Spare) -> Iterator[tuple[str, Stages]]:
    units = _units(application, target)
    most = [max(1, int(each)) for each in spare.pods]
    yield "flip", _side_by_side([_chunks(each, most[number]) for number, each in enumerate(units)])
    yield "waves", _side_by_side([_chunks(each, 1) for each in units])
    one_by_one = [chunk for number in application.order for chunk in _chunks(units[number], most[number])]
    yield "frontier", tuple(one_by_one)


def _chunks(units: list[Unit], size: int) -> list[tuple[Unit, ...]]:
    return [tuple(units[at : at + size]) for at in range(0, len(units), size)]


def _side_by_side(parts: list[list[tuple[Unit, ...]]]) -> Stages:
    longest = max((len(part) for part in parts), default=0)
    return tuple(tuple(unit for part in parts if place < len(part) for unit in part[place]) for place in range(longest))


def judged(
    name: str,
    stages: Stages,
    application: CallGraph,
    prediction: Prediction,
    spare: Spare,
    *,
    seconds: float,
    horizon: float,
    redundant: Redundant | None = None,
) -> Order:
    """What carrying out an order costs until it is done, and whether no request is slower meanwhile."""
    way, target = _way(application, stages, spare)
    placements = np.concatenate([application.counts[np.newaxis], way, target[np.newaxis]]).astype(np.float64)
    costs = np.minimum(prediction.cost(placements), LOST_MS)
    busy = prediction.busy(placements)
    start, steps, end = costs[0], costs[1:-1], costs[-1]
    allowed = np.maximum(BUSY, busy[0])
    safe = bool((steps <= start * _SLACK).all() and (busy[1:-1] <= allowed + 1e-9).all())
    lowers = redundant is not None and bool(_lowered(stages, application, spare, redundant).any())
    within = np.clip(horizon - seconds * np.arange(len(steps)), 0.0, seconds)  # seconds of each stage
    return Order(name, stages, float((within * (steps - end)).sum()), safe, spare.surge, lowers)


def _way(application: CallGraph, stages: Stages, spare: Spare) -> tuple[Floats, Ints]:
    """[stage, w, n]: the pods that serve while the replacements of a stage start; and [w, n] at the end."""
    here = application.counts.copy()
    found = []
    for stage in stages:
        left = here.copy()
        for workload, origin, _ in stage:
            if not spare.surge[workload]:
                left[workload, origin] -= 1
        found.append(left)
        for workload, origin, to in stage:
            here[workload, origin] -= 1
            here[workload, to] += 1
    return np.array(found, dtype=np.float64).reshape((len(stages), *here.shape)), here
