"""Whether the scheduler's filters let a plan happen, tried on the working copy stage by stage and taken back.

Room is looked for before a pod leaves: what leaves in the same stage still takes its room until it has ended, so a step
whose place it takes waits for the next stage. That is how one pod makes room for another. Only where nobody could go first
otherwise, pods that take each other's places leave together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from ecotone.descheduling.plans.plan import Stages, Step
from ecotone.descheduling.plans.promises import Promises
from ecotone.model.objects import Pod, Reservation, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cycle

Leaver = tuple[Step, Pod]


def settle(
    framework: Framework,
    state: ClusterState,
    stages: Stages,
    pods: Mapping[WorkloadKey, Sequence[Pod]],
    *,
    most: int | None = None,
) -> Stages | Step:
    """The stages as they can happen, with at most so many steps each, or a step that never can.

    A step cannot if its replacement never finds its place free, or if a bound on distances that holds before its stage
    would not hold after it.
    """
    if most is not None and most < 1:
        return stages[0][0]
    trial = _Trial(framework, state, pods)
    try:
        return _settled(trial, stages, most)
    finally:
        trial.undo()


def with_room(framework: Framework, state: ClusterState, leavers: Sequence[Leaver]) -> list[Leaver]:
    """Those whose places are free now, or held for them; the others would leave for nothing, and wait."""
    held = {kept.replaces_uid for kept in state.reservations if kept.expires > state.now and not kept.taken_by}
    trial = _Trial(framework, state, {})
    others = [leaver for leaver in leavers if leaver[1].uid not in held]
    taken = trial.entering(others) or trial.entering(others, together=True)
    may = held | {others[number][1].uid for number in taken}
    return [leaver for leaver in leavers if leaver[1].uid in may]


def _settled(trial: _Trial, stages: Stages, most: int | None) -> Stages | Step:
    at_once = Counter[WorkloadKey]()
    for stage in stages:
        at_once |= Counter(step.workload for step in stage)
    found: list[tuple[Step, ...]] = []
    waiting: list[Step] = []
    left = list(stages)
    while left or waiting:
        waiting += left.pop(0) if left else ()
        taken = _first_that_can(trial, waiting, at_once, most)
        if isinstance(taken, Step):
            return taken
        if taken:
            found.append(tuple(waiting[place] for place in taken))
            waiting = [step for place, step in enumerate(waiting) if place not in taken]
        elif not left:
            return waiting[0]
    return tuple(found)


def _first_that_can(
    trial: _Trial, waiting: Sequence[Step], at_once: Counter[WorkloadKey], most: int | None
) -> list[int] | Step:
    """Which of those that wait go next: of the first ones that can, as many as may go at a time."""
    left = list(range(len(waiting)))
    while left:
        tried: list[int] = []
        going = Counter[WorkloadKey]()
        for place in left:
            workload = waiting[place].workload
            if (most is None or len(tried) < most) and going[workload] < at_once[workload]:
                going[workload] += 1
                tried.append(place)
        taken = trial.stage([waiting[place] for place in tried])
        if isinstance(taken, Step):
            return taken
        if taken:
            return [tried[number] for number in taken]
        left = [place for place in left if place not in tried]
    return []


class _Trial:
    def __init__(self, framework: Framework, state: ClusterState, pods: Mapping[WorkloadKey, Sequence[Pod]]) -> None:
        self._framework = framework
        self._state = state
        self._left = {key: list(there) for key, there in pods.items()}
        self._before = state.reservations
        self._gone: list[Pod] = []
        self._come: list[str] = []
        self._promises = Promises(framework, state, {key.namespace for key in pods})

    def stage(self, steps: Sequence[Step]) -> list[int] | Step:
        """The numbers of those that happen, or one that would break a promise."""
        leavers = self._picked(steps)
        taken = self.entering(leavers) or self.entering(leavers, together=True)
        held = self._promises.held() if taken else set()
        for number in taken:
            step, pod = leavers[number]
            self._state.lift(pod.key)
            self._gone.append(pod)
            self._left[step.workload].remove(pod)
            self._come_to(step, pod)
        broken = held - self._promises.held() if taken else ()
        names = {name for promise in broken for name in promise}
        concerned = [step for step in steps if (step.workload.namespace, step.workload.name) in names]
        return concerned[0] if concerned else taken

    def entering(self, leavers: Sequence[Leaver], *, together: bool = False) -> list[int]:
        """The numbers of those whose replacements all find room at the same time; nothing is changed by asking.

        What leaves is ending meanwhile and takes its room, unless all leave `together`: then as if it had ended. Filters
        see the places that will be reserved, as they will when it happens. That counts nobody's room twice: room is held
        only where a round begins.
        """
        taken = list(range(len(leavers)))
        while taken:
            refused = self._refused([leavers[number] for number in taken], together=together)
            if not refused:
                break
            taken = [number for place, number in enumerate(taken) if place not in refused]
        return taken

    def _refused(self, leavers: Sequence[Leaver], *, together: bool) -> set[int]:
        state, come = self._state, []
        going = [pod for step, pod in leavers if not step.surge]
        for pod in going:
            if together:
                state.lift(pod.key)
            else:
                state.put_pod(replace(pod, ready=False, deleting=True))
        state.set_reservations((*self._before, *(_reserved(step, pod) for step, pod in leavers)))
        refused = set()
        for number, (step, pod) in enumerate(leavers):
            comer = _replacement(pod)
            if _fits(self._framework, state, comer, step.target):
                come.append(state.assume(comer, step.target).key)
            else:
                refused.add(number)
        for key in come:
            state.drop_pod(key)
        state.set_reservations(self._before)
        for pod in going:
            state.put_pod(pod)
        return refused

    def _picked(self, steps: Sequence[Step]) -> list[Leaver]:
        free = {key: list(there) for key, there in self._left.items()}
        found = []
        for step in steps:
            pod = next(pod for pod in free[step.workload] if pod.node == step.origin)
            free[step.workload].remove(pod)
            found.append((step, pod))
        return found

    def _come_to(self, step: Step, pod: Pod) -> None:
        self._come.append(self._state.assume(_replacement(pod), step.target).key)

    def undo(self) -> None:
        self._state.set_reservations(self._before)
        for key in self._come:
            self._state.drop_pod(key)
        for pod in self._gone:
            self._state.put_pod(pod)


def _reserved(step: Step, pod: Pod) -> Reservation:
    return Reservation(
        name=f"move-{pod.name}", namespace=pod.namespace, workload=step.workload, template_hash="", node=step.target,
        requests=(), replaces_uid=pod.uid, expires=inf,
    )  # fmt: skip


def _replacement(pod: Pod) -> Pod:
    return replace(pod, name=f"{pod.name}.replacement", uid=f"{pod.uid}.replacement", node=None, bound_at=None)


def _fits(framework: Framework, state: ClusterState, pod: Pod, node: str) -> bool:
    return Evaluation(framework, Cycle(state, pod)).fits(state.nodes.index[node])
