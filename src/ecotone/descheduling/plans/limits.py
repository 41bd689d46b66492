"""How careful a profile is about plans, and what the search for a placement has to keep because of it."""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.model.arrays import Mask
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.response import limits
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.constraints import Limits

PodsOf = dict[WorkloadKey, list[Pod]]


@dataclass(frozen=True, slots=True)
class Care:
    """`horizon`: seconds in which a gain must have paid for the way; `startup`: seconds from binding to Ready, as far as
    known, and `patience`: how much longer a step may take; `moveMs`: what a moved pod must save; `rising`: times the CPU a
    new load may come to need; `wrong`: the part of the time spent waiting for CPU that figures of a window may be wrong by.
    """

    horizon: float = 300.0
    startup: float = 10.0
    patience: float = 60.0
    moveMs: float = 0.1  # noqa: N815 - spelt as in the profile
    rising: float = 2.0
    wrong: float = 0.25


def pods_by_workload(state: ClusterState) -> PodsOf:
    """Those that serve or will soon."""
    found: PodsOf = {}
    for pod in state.usage.pods():
        if pod.is_peer:
            found.setdefault(pod.kind.workload, []).append(pod)
    return found


def limits_of(
    framework: Framework, state: ClusterState, application: CallGraph, pods: PodsOf, *, movable: Mask, care: Care,
    lean: bool = False,
) -> Limits:  # fmt: skip
    return limits.limits_of(
        framework, state, application, pods, movable=movable,
        moving=care.moveMs, lean=lean,
    )  # fmt: skip
