"""Pods of an application that nobody has measured yet and that wait together are placed together.

One by one, the first pods of an application are placed before those they talk to, and stand where these cannot follow:
the descheduler would have to put it right once users have come. So when all waiting pods have a place, the search that
plans moves is asked about every application among them that channels declare (`response.declared`), with the places just
found as the present ones. Where another placement is faster by what somebody notices, the pods take these places instead;
everywhere else each pod's own best node stands, with Kubernetes' own scores behind it.

Only workloads all of whose pods are being placed take part. Replicas are kept on several nodes and in several zones as
everywhere else (`redundancy`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ecotone.model.arrays import Ints
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.framework import Framework

if TYPE_CHECKING:
    from ecotone.scheduling.response.call_graph import CallGraph

LEAST_MS, LEAST_SHARE = 1.0, 0.1  # what somebody notices, and what is worth leaving each pod's own best node for
MOST = 600  # workloads times nodes that are looked at as a whole: nobody waits a second for a bind
_MOVING = 0.1


class Place(msgspec.Struct, frozen=True):
    node: str
    why: str


def places(framework: Framework, state: ClusterState, placed: Collection[Pod]) -> dict[str, Place]:
    """Other nodes for some of these pods, which stand in this state where one by one they would go; by key."""
    arrived: dict[WorkloadKey, list[Pod]] = {}
    for pod in placed:
        arrived.setdefault(pod.kind.workload, []).append(pod)
    names = {(key.namespace, key.name) for key in arrived}
    spoken = names & (state.graph.named.keys() | state.graph.mentioned_by.keys())
    found: dict[str, Place] = {}
    if len(spoken) < 2:
        return found
    from ecotone.scheduling.response.declared import declared_applications  # the first application loads it

    for application in declared_applications(state, spoken, most=MOST, lateness=framework.lateness):
        better = _improved(framework, state, application, arrived)
        for pods in arrived.values():
            for pod in pods:
                if pod.key in better:  # the next application finds the place taken
                    state.drop_pod(pod.key)
                    state.assume(pod, better[pod.key].node)
        found |= better
    return found


def _improved(
    framework: Framework, state: ClusterState, application: CallGraph, arrived: Mapping[WorkloadKey, list[Pod]]
) -> dict[str, Place]:
    own = [arrived.get(kind.workload, []) for kind in application.kinds]
    movable = np.array([len(pods) > 0 for pods in own]) & (application.replicas == [len(pods) for pods in own])
    if not movable.any():
        return {}
    from ecotone.scheduling.response.limits import limits_of
    from ecotone.scheduling.response.prediction import Prediction
    from ecotone.scheduling.response.search import Search

    prediction = Prediction(application)
    limits = limits_of(framework, state, application, arrived, movable=movable, moving=_MOVING, kept=False)
    target = Search(application, prediction, limits).best()
    here, there = prediction.cost(np.stack([application.counts, target]).astype(np.float64)).tolist()
    if here - there < max(LEAST_MS, LEAST_SHARE * here):
        return {}
    why = (
        f"with the other pods of its application: {there:.4g} ms per request by the declared channels"
        f" instead of {here:.4g} ms if each went to its own best node"
    )
    names = [state.nodes.names[row] for row in application.rows.tolist()]
    return {
        pod.key: Place(names[place], why)
        for number, pods in enumerate(own)
        for pod, place in _exchanged(pods, application.counts[number], target[number], names)
    }


def _exchanged(pods: list[Pod], here: Ints, there: Ints, names: list[str]) -> list[tuple[Pod, int]]:
    """The pods that go elsewhere, the last ones of each node first, and the nodes that lack one, in order."""
    comes = np.repeat(np.arange(len(there)), np.maximum(there - here, 0)).tolist()
    leaves = [
        pod
        for place in range(len(here))
        if here[place] > there[place]
        for pod in [each for each in pods if each.node == names[place]][: here[place] - there[place]]
    ]
    return list(zip(leaves, comes, strict=True))
