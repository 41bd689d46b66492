"""A plan whose replacements landed elsewhere, judged once more: what is left must still pay from where the pods are now."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ecotone.descheduling.plans.limits import Care
from ecotone.descheduling.plans.orders import Spare, judged
from ecotone.descheduling.plans.plan import MovePlan, Step
from ecotone.descheduling.plans.progress import left_of
from ecotone.descheduling.plans.redundant import redundant_of
from ecotone.descheduling.plans.trial import settle
from ecotone.descheduling.plans.units import units_of
from ecotone.descheduling.run import Run
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.joined_graph import joined
from ecotone.scheduling.response.prediction import Prediction

_ELSEWHERE = "replacements landed elsewhere, and"


def anew(run: Run, plan: MovePlan, care: Care) -> tuple[MovePlan, str]:
    """What is left of the plan, and why it ends all the same: nothing if it goes on."""
    left = left_of(run.state, plan)
    if not left.stages:
        return left, f"{_ELSEWHERE} nothing more was to be moved"
    pods = {workload: [pod for pod in run.pods_of(workload) if pod.is_peer] for workload in left.workloads}
    stages = settle(run.framework, run.state, left.stages, pods, most=run.settings.max_moves)
    if isinstance(stages, Step):
        return left, f"{_ELSEWHERE} now {stages.target} has no place for {stages.workload}"
    left = replace(left, stages=stages)
    if plan.rescue is not None:
        waits = plan.rescue.pod in run.state.pending
        return left, "" if waits else f"{_ELSEWHERE} {plan.rescue.pod} waits no more"
    application = _application(run, left)
    if application is None:
        return left, f"{_ELSEWHERE} requests are not counted any more"
    return _priced(run, left, application, care)


def _priced(run: Run, plan: MovePlan, application: CallGraph, care: Care) -> tuple[MovePlan, str]:
    prediction = Prediction(application)
    units = units_of(run.state, application, plan.stages)
    target = application.counts.copy()
    for workload, origin, place in (unit for stage in units for unit in stage):
        target[workload, origin] -= 1
        target[workload, place] += 1
    here, there = prediction.cost(np.stack([application.counts, target]).astype(np.float64)).tolist()
    if here - there < max(run.settings.min_gain, run.settings.group_gain * here):
        return plan, f"{_ELSEWHERE} what is left saves {here - there:.4g} of {here:.4g} ms per request only"
    surging = {step.workload for step in plan.steps if step.surge}
    surge = tuple(kind.workload in surging for kind in application.kinds)
    spare = Spare(np.zeros(len(surge), dtype=np.int64), surge)
    order = judged(
        plan.order,
        units,
        application,
        prediction,
        spare,
        seconds=care.startup,
        horizon=care.horizon,
        redundant=redundant_of(run, application),
    )
    if order.lowers:
        return plan, f"{_ELSEWHERE} what is left would bring replicas too close together"
    if (here - there) * care.horizon < order.excess:
        return plan, f"{_ELSEWHERE} what is left saves less than the way costs within {care.horizon:g} s"
    return replace(plan, here=here, there=there, excess=order.excess, safe=order.safe), ""


def _application(run: Run, plan: MovePlan) -> CallGraph | None:
    """All applications that it moves, as one."""
    names = {(workload.namespace, workload.name) for workload in plan.workloads}
    targets = {step.target for step in plan.steps}
    framework = run.framework
    found = list(
        applications(
            run.state, around=names, beside=targets, lateness=framework.lateness, unawaited=framework.unawaited
        )
    )
    known = {kind.workload for application in found for kind in application.kinds}
    if not plan.workloads <= known:
        return None
    return found[0] if len(found) == 1 else joined(run.state, found, framework.lateness)
