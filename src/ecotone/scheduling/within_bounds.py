"""Pods that wait together get places that suit all of them, whichever was created first.

One by one, a pod goes where it is best off, and one that comes after it may then fit nowhere, for ever: it must be near the
first one, or can run on the nodes that others filled alone. So when a pod was turned away, those of its namespace that were
placed in the same round are asked to give way, as few as possible: first those that bounds join it to (`joint_places`), then
those that take its room (`making_room`). A pod for which nothing is found waits as before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ecotone.model.decisions import Decisions, Wait
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.deadlines import name_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.first_placement import Place
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.joint_places import joint_places, tied_to, ties_with
from ecotone.scheduling.making_room import room_for
from ecotone.scheduling.plugin import Cycle

_KINDS = 8  # of refused pods that are asked about in a round


def turned_away(answer: Decisions, waiting: Sequence[Pod]) -> list[Pod]:
    """Those of the waiting pods that filters leave no node."""
    refused = {each.pod for each in answer.decisions if isinstance(each, Wait) and each.plugins}
    return [pod for pod in waiting if pod.key in refused] if refused else []


def places_within_bounds(
    framework: Framework, state: ClusterState, placed: Collection[Pod], refused: Sequence[Pod]
) -> dict[str, Place]:
    """Places for some of the refused, and other ones for those of the placed that stand in their way; by key.

    The state has the placed pods where they went one by one, and in the end where they go instead.
    """
    placed = list(placed)
    found: dict[str, Place] = {}
    tried: set[PodKind] = set()
    for pod in refused:
        if pod.kind in tried or len(tried) >= _KINDS:
            continue
        evaluation = Evaluation(framework, Cycle(state, pod))
        row = evaluation.best() if evaluation.refusal is None else None
        # It has a place where others made way for the one before it.
        places = _together(framework, state, placed, pod) if row is None else {pod.key: state.nodes.names[row]}
        if not places:
            tried.add(pod.kind)
            continue
        why = f"with the pods that came with it: one by one {pod.key} would fit nowhere"
        by_key = {each.key: each for each in (*placed, pod)}
        for key, node in places.items():
            if by_key[key].node != node:
                by_key[key] = state.assume(by_key[key], node)
                found[key] = Place(node, why)
        placed = list(by_key.values())
    return found


def _together(framework: Framework, state: ClusterState, placed: list[Pod], pod: Pod) -> dict[str, str]:
    kinds = {each.kind: None for each in (*placed, pod)}
    ties = ties_with(framework, state, pod, kinds)
    joined = tied_to(ties, name_of(pod.kind))
    pods = [each for each in placed if name_of(each.kind) in joined]
    found = joint_places(framework, state, [*pods, pod], ties) if pods else None
    if found is None:
        own = [each for each in placed if each.namespace == pod.namespace]
        found = room_for(framework, state, pod, own, ties)
    return found or {}
