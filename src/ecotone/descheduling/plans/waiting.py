"""Room that a waiting pod needs is no room for a plan.

A pod that some node takes will be there in a moment: it counts where it is best off. One that fits nowhere counts on the
node where the least is lacking, if it could run there without others of its namespace: nobody comes there, and once enough
have left, it has its place. What it holds is room alone: it serves nobody yet, and nobody is nearer to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ecotone.descheduling.run import Run
from ecotone.model.objects import Pod, PodKind, WorkloadKey
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.making_room import without
from ecotone.scheduling.plugin import Cycle

_MOST = 500  # pods; more of them than that, and a cluster has no room for plans anyway


def hold_places(run: Run) -> None:
    """On the working copy of the round, the most important pods first, then the oldest."""
    state = run.state
    kept = Counter(
        held.workload for held in state.reservations if held.expires > state.now and not held.taken_by
    )  # what a move holds for its replacement
    stuck: dict[str, list[Pod]] = {}
    full: set[PodKind] = set()
    for pod in sorted(state.pending.values(), key=_urgency)[:_MOST]:
        if pod.deleting or run.framework.refusal_at_the_gate(state, pod) is not None:
            continue
        if kept[pod.kind.workload] > 0:
            kept[pod.kind.workload] -= 1
            continue
        row = None if pod.kind in full else _best(run, pod)
        if row is not None:
            _hold(run, pod, row)
        else:
            full.add(pod.kind)
            stuck.setdefault(pod.namespace, []).append(pod)
    for namespace, pods in stuck.items():
        _hold_where_least_lacks(run, namespace, pods)


def _urgency(pod: Pod) -> tuple[int, float, str]:
    return -pod.spec.priority, pod.created, pod.key


def _best(run: Run, pod: Pod) -> int | None:
    evaluation = Evaluation(run.framework, Cycle(run.state, pod))
    return evaluation.best() if evaluation.refusal is None else None


def _hold_where_least_lacks(run: Run, namespace: str, pods: list[Pod]) -> None:
    """Each kind is asked about once; its pods hold the first of its nodes."""
    own = [pod for pod in run.state.usage.pods() if pod.namespace == namespace and _might_leave(pod)]
    kinds = list({pod.kind: pod for pod in pods}.values())
    rows = dict(zip((pod.kind for pod in kinds), without(run.framework, run.state, kinds, own), strict=True))
    for pod in pods:
        if len(rows[pod.kind]):
            _hold(run, pod, int(rows[pod.kind][0]))


def _might_leave(pod: Pod) -> bool:
    return pod.owner is not None and not pod.mirror and pod.kind.workload.kind != "DaemonSet"


def _hold(run: Run, pod: Pod, row: int) -> None:
    """As a pod of nobody's: it is not moved, and calls do not go to it."""
    workload = WorkloadKey(pod.namespace, f"{pod.kind.workload.name}.waits", pod.kind.workload.kind)
    kind = replace(pod.kind, workload=workload)
    run.state.assume(
        replace(pod, name=f"{pod.name}.waits", uid=f"{pod.uid}.waits", kind=kind, owner=None),
        run.state.nodes.names[row],
    )
