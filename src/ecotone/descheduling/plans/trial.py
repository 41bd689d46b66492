"""Whether the scheduler's filters let a plan happen, tried on the working copy stage by stage and taken back.

A step whose place is still taken waits for the next stage, as long as something else can go first: that is how one pod
makes room for another.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from ecotone.descheduling.plans.plan import Step
from ecotone.model.objects import Pod, Reservation, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.reservations import without_ending

Stages = tuple[tuple[Step, ...], ...]


def settle(
    framework: Framework, state: ClusterState, stages: Stages, pods: dict[WorkloadKey, list[Pod]]
) -> Stages | Step:
    """The stages as they can happen, or a step whose replacement never finds its place free."""
    trial = _Trial(framework, state, pods)
    try:
        return _settle(trial, stages)
    finally:
        trial.undo()


def _settle(trial: _Trial, stages: Stages) -> Stages | Step:
    found: list[tuple[Step, ...]] = []
    waiting: list[Step] = []
    left = list(stages)
    while left or waiting:
        wanted = (*waiting, *(left.pop(0) if left else ()))
        taken, waiting = trial.stage(wanted)
        if not taken:
            return waiting[0]
        found.append(taken)
    return tuple(found)


class _Trial:
    def __init__(self, framework: Framework, state: ClusterState, pods: dict[WorkloadKey, list[Pod]]) -> None:
        self._framework = framework
        self._state = state
        self._left = {key: list(each) for key, each in pods.items()}
        self._before = state.reservations
        self._gone: list[Pod] = []
        self._come: list[str] = []

    def stage(self, steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], list[Step]]:
        """Those that happen and those that have to wait. Plain moves leave first, those that surge when all have come.

        Filters see the places that will be reserved, as they will when it happens. That counts nobody's room twice: room is
        held only where a round begins.
        """
        leaving = [(step, self._pick(step)) for step in steps]
        for step, pod in leaving:
            if not step.surge:
                self._state.lift(pod.key)
        self._state.set_reservations((*self._before, *(_reserved(step, pod) for step, pod in leaving)))
        taken: list[tuple[Step, Pod]] = []
        refused: list[Step] = []
        for step, pod in leaving:
            if self._enter(step, pod):
                taken.append((step, pod))
                continue
            refused.append(step)
            self._left[step.workload].append(pod)
            if not step.surge:
                self._state.put_pod(pod)
        for step, pod in taken:
            if step.surge:
                self._state.lift(pod.key)
            self._gone.append(pod)
        return tuple(step for step, _ in taken), refused

    def _pick(self, step: Step) -> Pod:
        own = self._left[step.workload]
        pod = next(each for each in own if each.node == step.origin)
        own.remove(pod)
        return pod

    def _enter(self, step: Step, pod: Pod) -> bool:
        comer = _replacement(pod)
        if not _fits(self._framework, self._state, comer, step.target):
            return False
        self._state.assume(comer, step.target)
        self._come.append(comer.key)
        return True

    def undo(self) -> None:
        self._state.set_reservations(self._before)
        for key in self._come:
            self._state.drop_pod(key)
        for pod in self._gone:
            self._state.put_pod(pod)


def waits_for_room(framework: Framework, state: ClusterState, step: Step, pod: Pod) -> bool:
    """True if pods that are ending are all that keeps the replacement from its place: it would wait there, not serve."""
    later = without_ending(state, step.target)
    if later is None:
        return False
    comer = _replacement(pod)
    return not _fits(framework, state, comer, step.target) and _fits(framework, later, comer, step.target)


def _replacement(pod: Pod) -> Pod:
    return replace(pod, name=f"{pod.name}.replacement", uid=f"{pod.uid}.replacement", node=None, bound_at=None)


def _fits(framework: Framework, state: ClusterState, pod: Pod, node: str) -> bool:
    return Evaluation(framework, Cycle(state, pod)).fits(state.nodes.index[node])


def _reserved(step: Step, pod: Pod) -> Reservation:
    return Reservation(
        name=f"move-{pod.name}",
        namespace=pod.namespace,
        workload=step.workload,
        template_hash="",
        node=step.target,
        requests=(),
        replaces_uid=pod.uid,
        expires=inf,
    )
