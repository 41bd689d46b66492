"""Pods with QoS targets that wait at the same time, placed together.

One by one, the first in the queue takes the room that another service's promise needs more, and a migration has to put it
right. Here the counts model is asked once per round where all of them should go, with everything that runs left where it
is: least loss first, then most room for what comes. The answer is the number of pods of each kind that every node should
have in the end; whoever scores nodes for a pod looks up whether a node still lacks one.
"""

from __future__ import annotations

from ecotone.model.arrays import Ints
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.placement.problem.population import population
from ecotone.placement.qos.exact import exact
from ecotone.placement.qos.from_snapshot import BROKEN_MS, problem_of, targets
from ecotone.placement.qos.rounding import fill
from ecotone.placement.qos.solve import SMALL
from ecotone.scheduling.costs.targets import target_of


def together(state: ClusterState) -> dict[PodKind, Ints]:
    waiting = _with_targets(state)
    if not waiting:
        return {}
    found = population(state.freeze(), waiting)
    wanted = targets(state, found)
    problem = problem_of(found, wanted, broken_ms=BROKEN_MS, with_waiting=True)
    small = problem.services * problem.nodes <= SMALL
    answer = exact(problem) if small else None
    x = fill(problem, found.placed) if answer is None else answer.x
    return {kind: x[row] for row, kind in enumerate(found.kinds) if found.waiting[row] and wanted.has[row]}


def _with_targets(state: ClusterState) -> list[Pod]:
    """Those that no reserved place waits for: of each workload as many are left out as places are kept for it."""
    kept: dict[object, int] = {}
    for held in state.reservations:
        if held.expires > state.now and not held.taken_by:
            kept[held.workload] = kept.get(held.workload, 0) + 1
    found = []
    for pod in sorted(state.pending.values(), key=lambda each: (each.created, each.key)):
        if pod.spec.gates or target_of(state, pod.kind) is None:
            continue
        if kept.get(pod.kind.workload, 0) > 0:
            kept[pod.kind.workload] -= 1
        else:
            found.append(pod)
    return found
