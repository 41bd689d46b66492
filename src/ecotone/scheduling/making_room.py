"""Who makes way for a pod that fits nowhere, whatever keeps it out: room, host ports, taints that others could do without.

Some node would take the pod if others were elsewhere. Those that cannot stay beside it there go, as few as possible, each
to the best node that it has; where one has none, those are asked too that stand in its way in turn (`joint_places`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.joint_places import MOST_PODS, Ties, joint_places
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.redundancy.choice import choose_among_redundant

MOST_NODES = 8  # that are tried for a pod: those where the least is lacking
_WIDER = 2  # of them, also with others who stand elsewhere


def room_for(
    framework: Framework, state: ClusterState, pod: Pod, movers: Sequence[Pod], ties: Ties
) -> dict[str, str] | None:
    """A node for the pod, and for those of the movers that leave theirs, by key; the state is as it was afterwards."""
    rows = without(framework, state, [pod], movers)[0]
    there: dict[int, list[Pod]] = {row: [] for row in rows.tolist()}
    for mover in movers:
        row = state.nodes.index[mover.node or ""]
        if row in there:
            there[row].append(mover)
    in_the_way = [(row, group) for row, group in there.items() if group][:MOST_NODES]
    for row, group in in_the_way:
        found = _others_go(framework, state, pod, row, group)
        if found is not None:
            return found
    # First so that nobody else comes to the node: pods that change places have to leave at the same time.
    for closed in (True, False):
        for row, group in in_the_way[:_WIDER]:
            keys = {mover.key for mover in group}
            wider = [*group, *(mover for mover in movers if mover.key not in keys)][: MOST_PODS - 1]
            found = joint_places(framework, state, [*wider, pod], ties, closed=row if closed else None)
            if found is not None:
                stays = {mover.key for mover in wider if found[mover.key] == mover.node}
                return {key: node for key, node in found.items() if key not in stays}
    return None


def _others_go(
    framework: Framework, state: ClusterState, pod: Pod, row: int, group: Sequence[Pod]
) -> dict[str, str] | None:
    """The pod on this node, and who cannot stay beside it on the best one for him as things are; None if there is none.

    The smallest stay first, so that few go.
    """
    for mover in group:
        state.drop_pod(mover.key)
    found = {pod.key: state.nodes.names[row]}
    come: list[Pod] = []
    try:
        leave = []
        for mover in sorted(group, key=lambda each: (*_size(state, each), each.key)):
            state.put_pod(mover)
            if not Evaluation(framework, Cycle(state, pod)).fits(row):
                state.drop_pod(mover.key)
                leave.append(mover)
        come.append(state.assume(pod, state.nodes.names[row]))
        for mover in reversed(leave):
            evaluation = Evaluation(framework, Cycle(state, replace(mover, node=None, bound_at=None)))
            if evaluation.refusal is None:
                choose_among_redundant(evaluation)
            place = evaluation.best() if evaluation.refusal is None else None
            if place is None or place == row:
                return None
            found[mover.key] = state.nodes.names[place]
            come.append(state.assume(replace(mover, node=None, bound_at=None), found[mover.key]))
        return found
    finally:
        for placed in come:
            state.drop_pod(placed.key)
        for mover in group:
            state.put_pod(mover)
        if pod.node is None:
            state.put_pod(pod)


def _size(state: ClusterState, pod: Pod) -> tuple[float, ...]:
    """The largest share of any node's resource that it asks for."""
    most = np.maximum(state.nodes.allocatable.max(axis=0).astype(np.float64), 1.0)
    wanted = np.array([pod.spec.request(name) for name in state.nodes.resources], dtype=np.float64)
    return (float((wanted / most).max(initial=0.0)),)


def without(framework: Framework, state: ClusterState, pods: Sequence[Pod], movers: Collection[Pod]) -> list[Ints]:
    """The nodes that would take each pod if the movers were not there, those first where the least is lacking now."""
    lacking = [_lacking(state, pod) for pod in pods]
    for mover in movers:
        state.drop_pod(mover.key)
    try:
        found = []
        for pod, less in zip(pods, lacking, strict=True):
            evaluation = Evaluation(framework, Cycle(state, pod))
            rows = evaluation.feasible if evaluation.refusal is None else np.zeros(0, dtype=np.intp)
            found.append(rows[np.lexsort((state.nodes.rank[rows], less[rows]))])
        return found
    finally:
        for mover in movers:
            state.put_pod(mover)


def _lacking(state: ClusterState, pod: Pod) -> Floats:
    """By node, the share of what the pod asks for that is not free."""
    wanted = np.array([pod.spec.request(name) for name in state.nodes.resources], dtype=np.float64)
    free = (state.nodes.allocatable - state.usage.requested).astype(np.float64)
    found: Floats = (np.clip(wanted - np.maximum(free, 0.0), 0.0, None) / np.maximum(wanted, 1.0)).sum(axis=1)
    return found
