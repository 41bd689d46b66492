"""Pods of a new application wait a moment for those they talk to, so that all can be placed together.

On a live cluster the objects of an application are created one after the other, over seconds. Its first pods would be
placed before anybody knows of the others (`first_placement` looks only at pods that wait together), and stand where these
cannot follow. What is still to come can be told: channels name their peers, and workloads say how many pods they want. So
the pods of an application none of whose pods has a node yet wait until all of it is there; at most until its newest pod is
`settleSeconds` old, and never longer than five times that. A replica that is added to an application, or replaced, does not
wait. In a file or a simulation, where everything is there at once, `settleSeconds` is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name, mentioned

PATIENCE = 5.0  # times `settleSeconds`: a stream of arrivals must not hold an application for ever
MOST = 200  # workloads of an application that are looked at: a larger one is not waited for


def arriving_group(pod: Pod) -> str | None:
    """The application whose pods are decided together while it arrives; None: the pod belongs to none."""
    group = pod.kind.app_group
    return None if group is None else f"{pod.kind.namespace}/{group}"


def young(pods: Iterable[Pod], *, now: float, settle: float) -> dict[str, list[Pod]]:
    """By application: those whose newest pod came a moment ago."""
    groups: dict[str, list[Pod]] = {}
    for pod in pods:
        group = arriving_group(pod)
        if group is not None:
            groups.setdefault(group, []).append(pod)
    return {group: members for group, members in groups.items() if _settling(members, now=now, settle=settle)}


def _settling(members: list[Pod], *, now: float, settle: float) -> bool:
    created = [pod.created for pod in members]
    return settling(now=now, own=min(created), newest=max(created), settle=settle)


def settling(*, now: float, own: float, newest: float, settle: float) -> bool:
    """True if an application waits a moment more, which has waited since `own`, and the newest pod came at `newest`."""
    return now - own < PATIENCE * settle and now - newest < settle


def awaited(state: ClusterState, members: Iterable[Pod]) -> str | None:
    """A workload of these pods' application that lacks pods; None if all are there, or if some have a node already."""
    seen: set[Name] = set()
    waiting = Counter(_name(pod) for pod in state.pending.values())
    left = [_name(pod) for pod in members]
    namespace = left[0][0] if left else ""
    lacking: str | None = None
    while left:
        name = left.pop()
        if name in seen or name[0] != namespace:
            continue
        seen.add(name)
        if len(seen) > MOST or any(len(state.usage.where(kind)[0]) for kind in state.named.get(name, ())):
            return None
        keys = state.graph.named.get(name, ())
        wanted = sum(1 if (count := state.workloads[key].replicas) is None else count for key in keys) if keys else 1
        if waiting[name] < wanted:
            lacking = name[1] if lacking is None else min(lacking, name[1])
        left += [peer for key in keys for peer in mentioned(state.workloads[key])]
        left += [(key.namespace, key.name) for key in state.graph.mentioned_by.get(name, ())]
    return lacking


def _name(pod: Pod) -> Name:
    return pod.kind.workload.namespace, pod.kind.workload.name
