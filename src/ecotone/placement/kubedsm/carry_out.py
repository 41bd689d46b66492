"""Carrying a plan out: which of its steps can begin now, on the counts as they are.

Shared by KubeDSM's suggestions and by `ecotone`'s targets: whoever plans in counts hands its steps to this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ecotone.descheduling.eligibility import budgets_of
from ecotone.descheduling.steps import Step, StepPlan, under_way
from ecotone.model.decisions import Evict
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.placement.kubedsm.cluster import Cluster, Move
from ecotone.placement.kubedsm.from_snapshot import Reading
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.redundancy.choice import GIVEN_UP


def move_of(step: Step, cluster: Cluster) -> Move | None:
    """The step on this cluster: a service of the workload that has a movable pod at the origin."""
    names = {node.name: index for index, node in enumerate(cluster.nodes)}
    if step.origin not in names or step.target not in names:
        return None
    origin = names[step.origin]
    for service, each in enumerate(cluster.services):
        if each.name == step.workload and cluster.movable[service, origin] > 0:
            return Move(service, origin, names[step.target])
    return None


def starting(plan: StepPlan, snapshot: Snapshot, settings: DeschedulerSettings) -> bool:
    """True while replacements of its last stage are to come: where moves per run are limited, the next stage waits."""
    return settings.max_moves is not None and not under_way(snapshot).isdisjoint(plan.moving)


def begin(
    plan: StepPlan,
    reading: Reading,
    snapshot: Snapshot,
    settings: DeschedulerSettings,
    *,
    keeps: Callable[[Cluster, Move], bool] = lambda _, __: True,
) -> list[tuple[Step, Pod, bool]]:
    """Steps that can begin now, in order, each with its pod and whether its replacement comes first; one per service.

    They are a stage: at most as many as a run may move. `keeps`: whether a move keeps what was promised.
    The target has room while the pod still holds its own place, so the replacement can always come first; whoever
    carries the step out falls back on an eviction where somebody else sets the replicas and other pods are ready.
    """
    if starting(plan, snapshot, settings):
        return []
    now, found = reading.cluster, reading.population
    busy = set(under_way(snapshot))
    allowed = {(each.namespace, each.name): each.allowed for each in snapshot.budgets}
    state = ClusterState.of(snapshot)
    begun: list[tuple[Step, Pod, bool]] = []
    for step in plan.steps:
        if settings.max_moves is not None and len(begun) >= settings.max_moves:
            break
        move = move_of(step, now)
        if move is None or step.workload in busy or not now.fits(move.service, move.target):
            continue
        if not keeps(now, move):
            continue
        pod = found.pods[move.service, move.origin][0]
        budgets = [(each.namespace, each.name) for each in budgets_of(state, pod)]
        surge = settings.single_replicas == "surge"
        if any(allowed[each] < 1 for each in budgets) and not (surge and found.ready[move.service].sum() < 2):
            continue
        for each in budgets:
            allowed[each] -= 1
        busy.add(step.workload)
        begun.append((step, pod, surge))
        # Its own place stays taken until it is gone: only the target changes for the steps that follow.
        now = _held(now, move)
    return begun


def _held(cluster: Cluster, move: Move) -> Cluster:
    """The target's capacity without what the move takes of it."""
    capacity = cluster.capacity.copy()
    capacity[move.target] -= cluster.size[move.service]
    return replace(cluster, capacity=capacity)


def eviction(pod: Pod, step: Step, plan: StepPlan, *, unit: str, surge: bool) -> Evict:
    why = f"one of {plan.made} moves that together gain {plan.gain:.4g} {unit}"
    if step.workload in plan.gives_up:
        why += f"; {GIVEN_UP}: elsewhere {step.workload} would miss its QoS target"
    return Evict(pod.key, step.origin, step.target, plan.gain / max(1, plan.made), unit, why, uid=pod.uid, surge=surge)
