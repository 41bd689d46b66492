"""From a snapshot to the counts problem: pods of workloads with targets may move, everybody else takes room.

A kind without a target has nothing to lose and keeps its place. Weights are equal. The mix for future fit follows the pods
there are: what runs often is what comes next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ecotone.model.arrays import Floats, Mask
from ecotone.model.state import ClusterState
from ecotone.placement.problem.population import Population
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.spread import Spread
from ecotone.scheduling.costs.targets import target_of

_NO_PROMISE = 1e9
BROKEN_MS = 30.0
"""What a broken promise counts beside its milliseconds: enough to keep as many promises as can be kept, with few exceptions,
and so little that mean latency hardly rises by it (docs/kubedsm.md tells how it was chosen)."""


@dataclass(frozen=True, slots=True, eq=False)
class Targets:
    """`has` says which kinds carry a target; `latency` and `promised` are theirs."""

    has: Mask
    latency: Floats
    promised: Floats


def targets(state: ClusterState, found: Population) -> Targets:
    shape = found.placed.shape
    latency, promised = np.zeros(shape), np.full(shape[0], _NO_PROMISE)
    for row, kind in enumerate(found.kinds):
        target = target_of(state, kind)
        if target is not None:
            latency[row], promised[row] = target.latency, target.promised
    return Targets(promised < _NO_PROMISE, latency, promised)


def problem_of(
    found: Population,
    wanted: Targets,
    *,
    budget: int | None = None,
    move_cost: float = 0.0,
    broken_ms: float = 0.0,
    with_waiting: bool = False,
    spread: Spread | None = None,
) -> Problem:
    """`with_waiting`: where the waiting pods go while nothing else moves; otherwise how the running ones should move."""
    waiting = np.array([len(pods) for pods in found.waiting], np.int64)
    pods = found.placed.sum(axis=1) + (waiting if with_waiting else 0)
    fixed = found.placed if with_waiting else np.where(wanted.has[:, None], found.fixed, found.placed)
    best = np.where(wanted.has, wanted.latency.min(axis=1, initial=np.inf), np.inf)
    near = np.any((wanted.latency <= best[:, None]) & wanted.has[:, None] & found.allowed, axis=0)
    weight = wanted.has * pods
    problem = Problem.of(
        size=found.size,
        capacity=np.maximum(found.capacity, found.placed.T @ found.size),
        latency=wanted.latency,
        target=wanted.promised,
        pods=pods,
        current=found.placed,
        fixed=fixed,
        allowed=found.allowed,
        near=near,
        mix=weight / max(1, int(weight.sum())),
        budget=budget,
        move_cost=move_cost,
        broken_ms=broken_ms,
    )
    return replace(problem, spread=spread)
