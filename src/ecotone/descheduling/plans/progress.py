"""What comes next of a plan, asked of the snapshot alone.

Level-triggered: each stage says how many pods of each workload should be left on each node. The first stage that is not
reached is the current one; its pods are asked to go once everything that the stages before it brought is Ready. Asking
twice gives the same answer, a refused eviction is simply asked for again, and a plan whose replacements do not come within
the time limit, or whose workloads were scaled or whose targets are gone, is given up where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.descheduling.plans.plan import MovePlan, Step
from ecotone.model.members import pods_of
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState

Where = tuple[WorkloadKey, str]


@dataclass(frozen=True, slots=True)
class Next:
    """`steps` to take now with the pod that goes; `over`: nothing is left to do or to wait for."""

    steps: tuple[tuple[Step, Pod], ...] = ()
    over: bool = False
    why: str = ""


def following(state: ClusterState, plan: MovePlan, *, limit: float) -> Next:
    workloads = plan.workloads
    if any(_scaled(state, plan, workload) for workload in workloads):
        return Next(over=True, why="a workload was scaled")
    if any(step.target not in state.nodes.index for stage in plan.stages for step in stage):
        return Next(over=True, why="a node that it moves to is gone")
    if state.now - plan.since > limit:
        return Next(over=True, why=f"replacements were not Ready within {limit:.0f} s")
    pods = _pods(state, workloads)
    wanted = {(workload, node): count for workload, counts in plan.start.items() for node, count in counts.items()}
    for stage in plan.stages:
        during, after = dict(wanted), dict(wanted)
        for step in stage:
            if not step.surge:
                during[step.workload, step.origin] = during.get((step.workload, step.origin), 0) - 1
            after[step.workload, step.origin] = after.get((step.workload, step.origin), 0) - 1
            after[step.workload, step.target] = after.get((step.workload, step.target), 0) + 1
        leaving = _surplus(stage, pods, after)
        if leaving:
            if not _ready(pods, during):
                return Next()
            return Next(tuple((step, pod) for step, pod in leaving if not (step.surge and pod.uid in plan.issued)))
        wanted = after
    return Next(over=_ready(pods, wanted), why="done")


def _scaled(state: ClusterState, plan: MovePlan, workload: WorkloadKey) -> bool:
    """By somebody else: while a surge of the plan's own is under way, its workload has one replica more."""
    known = state.workloads.get(workload)
    own = sum(plan.start[workload].values())
    if plan.rescue is not None:  # replicas of the workload may wait, the pod that is made way for among them
        return known is not None and known.replicas is not None and known.replicas < own
    surging = any(step.surge for stage in plan.stages for step in stage if step.workload == workload)
    return known is not None and known.replicas not in (None, own, own + surging)


def _pods(state: ClusterState, workloads: set[WorkloadKey]) -> dict[Where, list[Pod]]:
    """Those on nodes that are not on their way out, in the order in which they would go."""
    found: dict[Where, list[Pod]] = {}
    for workload in workloads:
        for pod in pods_of(state, workload):
            if not pod.deleting and pod.node is not None:
                found.setdefault((workload, pod.node), []).append(pod)
    for pods in found.values():
        pods.sort(key=lambda pod: (pod.ready, pod.deletion_cost, pod.key))
    return found


def _surplus(stage: tuple[Step, ...], pods: dict[Where, list[Pod]], after: dict[Where, int]) -> list[tuple[Step, Pod]]:
    """The steps of a stage whose pod is still there, each with a pod that is too many at its origin."""
    left = {where: len(each) - after.get(where, 0) for where, each in pods.items()}
    found = []
    for step in stage:
        where = (step.workload, step.origin)
        if left.get(where, 0) > 0:
            left[where] -= 1
            found.append((step, pods[where][left[where]]))
    return found


def _ready(pods: dict[Where, list[Pod]], wanted: dict[Where, int]) -> bool:
    return all(sum(pod.ready for pod in pods.get(where, ())) >= count for where, count in wanted.items())
