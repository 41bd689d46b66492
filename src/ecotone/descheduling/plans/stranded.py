"""Pods that wait because of where others stand: these make way for them, whatever it is that they take.

A pod that fits nowhere waits for ever if nobody moves, since the others cost the least where they are. Where bounds on
distances keep it out, whoever is bound to it may be asked to go where all of them fit (`joint_places`), as few as possible;
and if that is not enough, pods that take the room within its bounds. Else those make way that take its room, its ports or
the node whose taints they could live with elsewhere (`making_room`). What ends soon is waited for. No gain is asked for: a
pod that does not run serves nobody. Everything else holds as for any move: who may move at all, budgets, cool-downs,
replacements first where a workload has one pod. Only pods of its own namespace move for a pod, since what one tenant
writes moves only his own, and none of a higher priority.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ecotone.descheduling.grounds import Pair, pair_of
from ecotone.descheduling.plans.plan import MovePlan, Rescue, Stages, Step
from ecotone.descheduling.plans.redundant import closer_by
from ecotone.descheduling.plans.trial import settle
from ecotone.descheduling.run import Run
from ecotone.model.arrays import Mask
from ecotone.model.members import pods_of_each
from ecotone.model.objects import Pod, PodKind, WorkloadKey
from ecotone.scheduling.costs.deadlines import Bound, name_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.joint_places import MOST_PODS, joint_places, tied_to, ties_with
from ecotone.scheduling.making_room import room_for, without
from ecotone.scheduling.plugin import KEEPS_NEAR, Cycle

_KINDS = 16  # of waiting pods that a round looks for room for


@dataclass(frozen=True, slots=True)
class _Stranded:
    """A pod that fits nowhere, and what it must be near to."""

    pod: Pod
    bounds: tuple[Bound, ...]


def rescues(run: Run, busy: Collection[WorkloadKey], *, limit: float) -> Iterator[MovePlan]:
    """A plan for each waiting pod that others can make way for; pods of busy workloads stay.

    A stage may take `limit` seconds. Of pods that are alike one is asked about, until somebody makes way for it.
    Once a plan is taken its workloads are busy too, so whoever takes it adds them before asking for the next.
    """
    tried: set[PodKind] = set()
    for key in sorted(run.state.pending, key=lambda key: (-run.state.pending[key].spec.priority, key)):
        pod = run.state.pending.get(key)
        stranded = None if pod is None or pod.kind in tried or len(tried) >= _KINDS else _stranded(run, pod, busy)
        if stranded is None:
            continue
        tried.add(stranded.pod.kind)
        plan = _plan(run, stranded, busy, limit)
        if plan is not None:
            tried.discard(stranded.pod.kind)
            yield plan


def _stranded(run: Run, pod: Pod, busy: Collection[WorkloadKey]) -> _Stranded | None:
    state, settings, workload = run.state, run.settings, pod.kind.workload
    if pod.deleting or workload in busy or (settings.only is not None and workload not in settings.only):
        return None
    if settings.scheduler_names is not None and pod.spec.scheduler_name not in settings.scheduler_names:
        return None
    if any(each.workload == workload and each.expires > state.now and not each.taken_by for each in state.reservations):
        return None  # it replaces one that moves
    near = [plugin for plugin in run.framework.filters if KEEPS_NEAR.has(plugin)]
    bounds = tuple(bound for plugin in near for bound in plugin.keeps_near(state, pod.kind))
    if run.framework.refusal_at_the_gate(state, pod) is not None:
        return None
    evaluation = Evaluation(run.framework, Cycle(state, pod))
    if evaluation.refusal is not None or len(evaluation.feasible) or _will_fit(run, pod):
        return None
    missing = _missing(run, bounds)
    return None if missing and run.missing.waits_for(missing, ()) is not None else _Stranded(pod, bounds)


def _will_fit(run: Run, pod: Pod) -> bool:
    """True if pods that are ending are all that keeps it out."""
    ending = [each for each in run.state.usage.pods() if each.deleting]
    return bool(ending) and len(without(run.framework, run.state, [pod], ending)[0]) > 0


def _missing(run: Run, bounds: tuple[Bound, ...]) -> set[Pair]:
    """Ways to those it must be near that nobody has measured: once they are, it may fit where nobody has to move."""
    names = run.state.nodes.names
    return {
        pair_of(names[origin], names[target])
        for bound in bounds
        for target in bound.rows.tolist()
        for origin in np.flatnonzero(run.state.network.unknown_toward(target)).tolist()
        if origin != target
    }


def _plan(run: Run, stranded: _Stranded, busy: Collection[WorkloadKey], limit: float) -> MovePlan | None:
    pod = stranded.pod
    free = _may_make_way(run, pod, busy)
    kinds = {kind for kind in run.state.kind_counts if kind.namespace == pod.namespace}
    ties = ties_with(run.framework, run.state, pod, sorted(kinds, key=lambda kind: str(kind.workload)))
    if not stranded.bounds:
        places = room_for(run.framework, run.state, pod, free, ties)
        return _moving(run, pod, free, places, limit)
    joined = tied_to(ties, name_of(pod.kind))
    bound = [each for each in free if name_of(each.kind) in joined]
    others = [each for each in free if name_of(each.kind) not in joined]
    within = _within(run, stranded)
    in_the_way = [each for each in others if within[run.state.nodes.index[each.node or ""]]]
    for movers in (bound, [*bound, *in_the_way][: MOST_PODS - 1]):
        places = joint_places(run.framework, run.state, [*movers, pod], ties) if movers else None
        if places is not None:
            return _moving(run, pod, movers, places, limit)
    return None


def _moving(run: Run, pod: Pod, movers: list[Pod], places: Mapping[str, str] | None, limit: float) -> MovePlan | None:
    if places is None:
        return None
    moved = [(each, places[each.key]) for each in movers if places.get(each.key, each.node) != each.node]
    plan = _written(run, Rescue(pod.key, places[pod.key]), moved, limit) if moved else None
    return None if plan is None else replace(plan, gives_up=closer_by(run, moved))


def _may_make_way(run: Run, pod: Pod, busy: Collection[WorkloadKey]) -> list[Pod]:
    """Pods of its namespace that may go now, in the order of their keys."""
    single = run.settings.single_replicas
    found = pods_of_each(run.state, {kind.workload for kind in run.kinds() if kind.namespace == pod.namespace})
    return sorted(
        (
            each
            for workload, pods in found.items()
            if workload not in busy and not (single == "never" and sum(own.ready for own in pods) < 2)
            for each in pods
            if each.ready and each.spec.priority <= pod.spec.priority
            if run.may_move(each) and run.ledger.forbids(each) is None
        ),
        key=lambda each: each.key,
    )


def _within(run: Run, stranded: _Stranded) -> Mask:
    """The nodes that its bounds allow with everybody where they are."""
    found = np.ones(len(run.state.nodes), dtype=np.bool_)
    for bound in stranded.bounds:
        for target in bound.rows.tolist():
            found &= run.state.network.toward(target) <= bound.most
    return found


def _written(run: Run, rescue: Rescue, moved: list[tuple[Pod, str]], limit: float) -> MovePlan | None:
    """As many of a workload at a time as leave one that serves and as its budgets allow; None if filters refuse it so."""
    pods = {
        workload: [pod for pod in run.pods_of(workload) if pod.is_peer]
        for workload in {pod.kind.workload for pod, _ in moved}
    }
    steps: dict[WorkloadKey, list[Step]] = {}
    for pod, target in moved:
        workload = pod.kind.workload
        surge = run.settings.single_replicas == "surge" and run.needed_meanwhile(pod)
        steps.setdefault(workload, []).append(Step(workload, pod.node or "", target, surge))
    stages = settle(run.framework, run.state, _stages(run, steps, pods), pods, most=run.settings.max_moves)
    if isinstance(stages, Step):
        return None
    return MovePlan.beginning(stages, pods, at=run.state.now, limit=limit, order="rescue", rescue=rescue)


def _stages(run: Run, steps: dict[WorkloadKey, list[Step]], pods: dict[WorkloadKey, list[Pod]]) -> Stages:
    parts = []
    for workload, own in steps.items():
        most = run.spare(pods[workload])
        parts.append([own[at : at + max(1, most)] for at in range(0, len(own), max(1, most))])
    longest = max(len(part) for part in parts)
    return tuple(tuple(step for part in parts if at < len(part) for step in part[at]) for at in range(longest))
