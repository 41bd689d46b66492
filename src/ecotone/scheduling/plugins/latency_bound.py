"""LatencyBound: nodes too far from those the pod must reach in time are no candidates.

Two kinds of hard bounds, both on the round trip. `ecotone.dev/max-latency` on the pod: to the message queue of its
application group (pods with role `message-queue`), or, in a group without one, to its callers and users; the queue in turn
stays within the bound of every member that is placed. And a channel's `deadline`, from either end. Peers without a place yet
bind nobody: they will be held to the bound when their turn comes.

A latency nobody knows counts as the largest known one. As long as none is known at all, nothing is filtered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.network import known
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name, peer_name
from ecotone.scheduling.channels import channels
from ecotone.scheduling.peers import whereabouts
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, pick

TOO_FAR = "node(s) were farther than {:g} ms from {}"
QUEUE = "message-queue"

Bound = tuple[str, float, Rows]


class LatencyBound:
    name = "LatencyBound"

    def placement_changes(self, cycle: Cycle) -> Change:
        """Bounds are to others; only a workload that is its own peer moves its own."""
        own = _name(cycle.pod.kind)
        return "everything" if any(peer == own for peer, _ in _deadlines(cycle.state, own)) else "nothing"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        cycle.scratch[self.name] = list(bounds(cycle.state, cycle.pod.kind))
        return None

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        near: Mask | None = None
        for _, most, targets in self._bounds(cycle):
            for target in targets.tolist():
                within = pick(cycle.state.network.toward(target), rows, cycle) <= most
                near = within if near is None else near & within
        return near

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        found = []
        for peer, most, targets in self._bounds(cycle):
            away = np.zeros(len(rows), dtype=np.bool_)
            for target in targets.tolist():
                away |= pick(cycle.state.network.toward(target), rows, cycle) > most
            found.append(Rejection(away, TOO_FAR.format(most, peer), final=True))
        return found

    def _bounds(self, cycle: Cycle) -> list[Bound]:
        if self.placement_changes(cycle) == "everything" or self.name not in cycle.scratch:
            return list(bounds(cycle.state, cycle.pod.kind))
        kept: list[Bound] = cycle.scratch[self.name]
        return kept

    def hint(self, event: Event, pod: Pod, reasons: Sequence[str]) -> bool:  # noqa: ARG002
        """Nodes, measurements and peers that move can all help."""
        return True


def bounds(state: ClusterState, kind: PodKind) -> Iterator[Bound]:
    """What the pod must be near to: a name for people, milliseconds, and the rows in question."""
    if not state.network.anything_known:
        return
    own = _name(kind)
    for peer, most in _deadlines(state, own):
        rows, _ = whereabouts(state, *peer)
        if len(rows):
            yield peer[1], most, rows
    if kind.role == QUEUE:
        yield from _members(state, kind)
    elif kind.max_latency_ms is not None:
        yield from _own_bound(state, kind, kind.max_latency_ms)


def _own_bound(state: ClusterState, kind: PodKind, most: float) -> Iterator[Bound]:
    queues = [each for each in _group(state, kind) if each.role == QUEUE]
    if queues:
        for queue in queues:
            rows, _ = state.usage.where(queue)
            if len(rows):
                yield queue.workload.name, most, rows
        return
    for channel in channels(state, _name(kind)):
        if channel.called:
            rows, _ = whereabouts(state, *channel.peer)
            if len(rows):
                yield channel.peer[1], most, rows


def _members(state: ClusterState, queue: PodKind) -> Iterator[Bound]:
    for kind in _group(state, queue):
        rows, _ = state.usage.where(kind)
        if kind.role != QUEUE and kind.max_latency_ms is not None and len(rows):
            yield kind.workload.name, kind.max_latency_ms, rows


def _group(state: ClusterState, kind: PodKind) -> list[PodKind]:
    if kind.app_group is None:
        return []
    return [
        each
        for each in state.kind_counts
        if each.app_group == kind.app_group and each.namespace == kind.namespace and each.workload != kind.workload
    ]


def _deadlines(state: ClusterState, own: Name) -> Iterator[tuple[Name, float]]:
    """Deadlines of the workload's own channels and of those that lead to it."""
    for key in state.graph.named.get(own, ()):
        workload = state.workloads[key]
        for peer, most in workload.deadlines.items():
            if known(most):
                yield peer_name(key.namespace, peer), most
    for key in state.graph.mentioned_by.get(own, ()):
        workload = state.workloads[key]
        for peer, most in workload.deadlines.items():
            if known(most) and peer_name(key.namespace, peer) == own and (key.namespace, key.name) != own:
                yield (key.namespace, key.name), most


def _name(kind: PodKind) -> Name:
    return kind.workload.namespace, kind.workload.name
