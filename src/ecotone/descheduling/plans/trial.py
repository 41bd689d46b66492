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
        state = self._state
        comer = replace(pod, name=f"{pod.name}.replacement", uid=f"{pod.uid}.replacement", node=None, bound_at=None)
        evaluation = Evaluation(self._framework, Cycle(state, comer))
        if evaluation.refusal is not None or not evaluation.ok[state.nodes.index[step.target]]:
            return False
        state.assume(comer, step.target)
        self._come.append(comer.key)
        return True

    def undo(self) -> None:
        self._state.set_reservations(self._before)
        for key in self._come:
            self._state.drop_pod(key)
        for pod in self._gone:
            self._state.put_pod(pod)


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
