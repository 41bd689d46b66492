"""How near a pod must or should be to those it talks to, all on the round trip.

Three sources. `ecotone.dev/max-latency` on the pod: to the message queue of its application group (pods with role
`message-queue`), or, in a group without one, to its callers and users; the queue in turn stays within the bound of every
member that is placed. A channel's `deadline`, from either end. And a channel's soft deadline, likewise. Peers without a place
yet bind nobody: they will be held to the bound when their turn comes. A pod that is being moved binds by where its
replacement will be: two that must be near each other could never leave a place together otherwise.

A node beyond a bound is no candidate (LatencyBound), unless the bound is soft: then being late has a price (`Lateness`), the
mean over the peer's pods. Hard bounds are priced as well: where they are enforced no candidate is beyond them, and where a
profile makes them soft they cost what soft ones do.

A latency nobody knows counts as the largest known one. As long as none is known at all, nothing is bound.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Ints, Rows
from ecotone.model.columns.network import known
from ecotone.model.members import pods_of
from ecotone.model.objects import PodKind, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name, peer_name
from ecotone.scheduling.costs.channels import channels
from ecotone.scheduling.costs.peers import whereabouts

QUEUE = "message-queue"


class Lateness(msgspec.Struct, frozen=True):
    """What being late costs: `per_ms` milliseconds for each millisecond beyond a deadline, `fixed_ms` for any delay."""

    per_ms: float = 10.0
    fixed_ms: float = 0.0

    def price(self, round_trips: Floats, most: float) -> Floats:
        beyond = round_trips - most
        found: Floats = np.where(beyond > 0, self.per_ms * beyond + self.fixed_ms, 0.0)
        return found


DEFAULT = Lateness()


class Bound(msgspec.Struct, frozen=True):
    """At most `most` milliseconds from every pod of `peer`; its pods are `counts` on `rows`."""

    peer: Name
    most: float
    rows: Rows
    counts: Ints
    soft: bool = False


def bounds(state: ClusterState, kind: PodKind) -> Iterator[Bound]:
    """What the pod must, or (soft) should, be near to."""
    if not state.network.anything_known:
        return
    for peer, most, soft in deadlines(state, name_of(kind)):
        yield from _bound(state, peer, most, soft=soft)
    if kind.role == QUEUE:
        yield from _members(state, kind)
    elif kind.max_latency_ms is not None:
        yield from _own_bound(state, kind, kind.max_latency_ms)


def late_ms(state: ClusterState, kind: PodKind, lateness: Lateness = DEFAULT) -> Floats | None:
    """What being late costs on each node, None if nothing is asked of the pod."""
    found: Floats | None = None
    for bound in bounds(state, kind):
        shares = bound.counts / bound.counts.sum()
        for row, share in zip(bound.rows.tolist(), shares.tolist(), strict=True):
            late = share * lateness.price(state.network.toward(row), bound.most)
            found = late if found is None else found + late
    return found


def deadlines(state: ClusterState, own: Name) -> tuple[tuple[Name, float, bool], ...]:
    """Deadlines of the workload's own channels and of those that lead to it from its own namespace; True if soft.

    Kept with the graph until a workload changes: a decision asks several times.
    """
    if own not in state.graph.named and own not in state.graph.mentioned_by:
        return ()
    key = ("deadlines", own)
    kept: tuple[tuple[Name, float, bool], ...] | None = state.graph.kept.get(key)
    if kept is None:
        kept = state.graph.kept[key] = tuple(_deadlines(state, own))
    return kept


def _deadlines(state: ClusterState, own: Name) -> Iterator[tuple[Name, float, bool]]:
    for workload in _with_deadlines(state, state.graph.named.get(own, ())):
        for peer, most, soft in _listed(workload):
            yield peer_name(workload.key.namespace, peer), most, soft
    for workload in _with_deadlines(state, state.graph.mentioned_by.get(own, ())):
        key = workload.key
        if key.namespace != own[0]:
            continue
        for peer, most, soft in _listed(workload):
            if peer_name(key.namespace, peer) == own and (key.namespace, key.name) != own:
                yield (key.namespace, key.name), most, soft


def _with_deadlines(state: ClusterState, keys: Iterable[WorkloadKey]) -> list[Workload]:
    """Most have none."""
    found = [state.workloads[key] for key in keys]
    return [each for each in found if each.deadlines or each.soft_deadlines]


def name_of(kind: PodKind) -> Name:
    return kind.workload.namespace, kind.workload.name


def _listed(workload: Workload) -> Iterator[tuple[str, float, bool]]:
    given: tuple[tuple[Mapping[str, float], bool], ...] = ((workload.deadlines, False), (workload.soft_deadlines, True))
    for values, soft in given:
        for peer, most in values.items():
            if known(most):
                yield peer, most, soft


def _bound(state: ClusterState, peer: Name, most: float, *, soft: bool = False) -> Iterator[Bound]:
    rows, counts = _after_moves(state, peer, *whereabouts(state, *peer))
    if len(rows):
        yield Bound(peer, most, rows, counts, soft)


def _own_bound(state: ClusterState, kind: PodKind, most: float) -> Iterator[Bound]:
    queues = [each for each in _group(state, kind) if each.role == QUEUE]
    if queues:
        for queue in queues:
            rows, counts = _after_moves(state, name_of(queue), *state.usage.where(queue))
            if len(rows):
                yield Bound(name_of(queue), most, rows, counts)
        return
    for channel in channels(state, name_of(kind)):
        if channel.called:
            yield from _bound(state, channel.peer, most)


def _members(state: ClusterState, queue: PodKind) -> Iterator[Bound]:
    for kind in _group(state, queue):
        if kind.role == QUEUE or kind.max_latency_ms is None:
            continue
        rows, counts = _after_moves(state, name_of(kind), *state.usage.where(kind))
        if len(rows):
            yield Bound(name_of(kind), kind.max_latency_ms, rows, counts)


def _group(state: ClusterState, kind: PodKind) -> list[PodKind]:
    if kind.app_group is None:
        return []
    return [
        each
        for each in state.kind_counts
        if each.app_group == kind.app_group and each.namespace == kind.namespace and each.workload != kind.workload
    ]


def _after_moves(state: ClusterState, peer: Name, rows: Rows, counts: Ints) -> tuple[Rows, Ints]:
    """Where its pods will be once those have come that places are reserved for."""
    nodes = state.nodes.index
    moves = [
        each
        for each in state.reservations
        if (each.workload.namespace, each.workload.name) == peer and each.expires > state.now and each.node in nodes
    ]
    if not moves:
        return rows, counts
    found: Counter[int] = Counter()
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        found[row] += count
    replaced = {each.replaces_uid for each in moves}
    for workload in {each.workload for each in moves}:
        for pod in pods_of(state, workload):
            if pod.uid in replaced and pod.node is not None:
                found[nodes[pod.node]] -= 1
    for each in moves:
        if not each.taken_by:
            found[nodes[each.node]] += 1
    left = sorted(row for row, count in found.items() if count > 0)
    return np.array(left, dtype=np.intp), np.array([found[row] for row in left], dtype=np.int64)
