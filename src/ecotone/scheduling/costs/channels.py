"""Both sides of every channel of a workload, and how many round trips a request makes over it.

A caller knows whom it calls, a callee is measured from both ends: a channel takes the larger of the two sides' traffic
(each counts both directions already) and the sum of both sides' static affinity. Across namespaces only the workload's
own side counts, so that what one tenant writes on his workloads cannot move another's pods. From these follows its weight,
in round trips on the critical path of one request that passes through the workload:

* a request comes from exactly one caller, so callers (users included) share one round trip, by traffic or else by affinity;
* a callee is called as often as its traffic compares with the traffic that comes in, once if no traffic is known, and a
  little (`IDLE`) if the channel is there but silent now;
* a peer that is listed without any usable figure is no channel;
* a synchronous channel counts in full, an asynchronous one by `ASYNCHRONOUS`; where only priorities are known, by how the
  priority compares with that of a synchronous route.

Traffic that doubles everywhere changes nothing: weights are per request. Bytes stand in for requests only where nobody
counted requests: a channel with a measured rate weighs by it, and one without (TCP, say) by its bytes at the size of the
workload's counted requests. An answer of a megabyte is one round trip as an answer of a line is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from ecotone.model.columns.network import FUTURE, is_stale, known
from ecotone.model.objects import USERS, Workload
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name, peer_name
from ecotone.scheduling.costs.peers import amount

SYNCHRONOUS_PRIORITY = 80.0
ASYNCHRONOUS = 0.2
UNAWAITED = 0.0001  # the same in what whole applications move for: ten seconds of messages as a millisecond of a user
IDLE = 0.05
MOST_CALLS = 8.0


class Channel(msgspec.Struct):
    """What the two sides say. `traffic` is None if neither side was measured; `calls` and `called`: who starts.

    `sent` and `received` are the requests per second counted in each direction, None where direction was not counted.
    """

    peer: Name
    users: bool = False
    affinity: float = 0.0
    traffic: float | None = None
    rate: float | None = None
    synchronous: bool | None = None
    calls: bool = False
    called: bool = False
    weight: float = 0.0
    sent: float | None = None
    received: float | None = None


def channels(state: ClusterState, own: Name) -> list[Channel]:
    """The weighted channels of a workload, by the name of the other end; those of weight 0 are left out.

    Kept with the graph until a workload changes or the first of their measurements grows old.
    """
    kept: tuple[float, float, list[Channel]] | None = state.graph.kept.get(own)
    if kept is None or not kept[0] <= state.now <= kept[1]:
        found = _channels(state, own)
        heavy = [channel for channel in found if channel.weight > 0]
        kept = state.graph.kept[own] = (state.now, _fresh_until(state, own, found), heavy)
    return kept[2]


def _fresh_until(state: ClusterState, own: Name, found: Sequence[Channel]) -> float:
    moments = [
        at
        for name in (own, *(channel.peer for channel in found))
        for key in state.graph.named.get(name, ())
        if (at := state.workloads[key].measured_at) is not None
    ]
    ends = [at + state.max_age for at in moments if at + state.max_age >= state.now]
    # What claims to come from the future becomes known when its time has come: not kept until then.
    ends += [state.now for at in moments if at - state.now > FUTURE]
    return min(ends, default=math.inf)


def _channels(state: ClusterState, own: Name) -> list[Channel]:
    found: dict[Name, Channel] = {}
    ours = [state.workloads[key] for key in state.graph.named.get(own, ())]
    written = _spellings(own[0], own)
    for workload in ours:
        _own_side(workload, found)
    for key in state.graph.mentioned_by.get(own, ()):
        if key.namespace == own[0] and key.name != own[1]:
            _other_side(state.workloads[key], written, found)
    measured = [workload for workload in ours if _is_fresh(state, workload)]
    for channel in found.values():
        for workload in measured:
            sent = _one_side(workload, _spellings(own[0], channel.peer), channel)
            channel.sent = sent if channel.sent is None else _more(channel.sent, sent)
        if channel.peer[0] == own[0]:
            _measure_there(state, written, channel)
        _direct(state, own, channel)
    _weigh([each for each in found.values() if each.affinity > 0 or each.synchronous is not None or each.traffic])
    return list(found.values())


def _own_side(workload: Workload, found: dict[Name, Channel]) -> None:
    affinity, synchronous = workload.affinity, workload.synchronous
    for name in dict.fromkeys((*(affinity or ()), *(workload.traffic or ()), *synchronous)):
        users = name.startswith(USERS)
        peer = ("", name) if users else peer_name(workload.key.namespace, name)
        channel = found.get(peer)
        if channel is None:
            channel = found[peer] = Channel(peer, users=users)
        priority = amount(affinity, name)
        channel.affinity += priority
        if users:
            channel.called = True
        elif priority > 0 or name in synchronous:
            channel.calls = True
        if name in synchronous:
            channel.synchronous = bool(channel.synchronous) or synchronous[name]


def _other_side(workload: Workload, written: tuple[str, ...], found: dict[Name, Channel]) -> None:
    """What a peer says of the workload that it writes so."""
    peer = (workload.key.namespace, workload.key.name)
    channel = found.get(peer)
    if channel is None:
        channel = found[peer] = Channel(peer)
    affinity, synchronous = workload.affinity, workload.synchronous
    if not affinity and not synchronous:
        return
    for name in written:
        priority = amount(affinity, name)
        channel.affinity += priority
        channel.called |= priority > 0 or name in synchronous
        if name in synchronous:
            channel.synchronous = bool(channel.synchronous) or synchronous[name]


def _spellings(namespace: str, peer: Name) -> tuple[str, ...]:
    """How a workload of this namespace may write that peer."""
    if not peer[0]:
        return (peer[1],)
    full = f"{peer[0]}/{peer[1]}"
    return (peer[1], full) if peer[0] == namespace else (full,)


def _is_fresh(state: ClusterState, workload: Workload) -> bool:
    """True if what it measured can be trusted."""
    return not is_stale(workload.measured_at, now=state.now, max_age=state.max_age)


def _measure_there(state: ClusterState, written: tuple[str, ...], channel: Channel) -> None:
    """The larger of what the two sides measured; a side that was measured and does not list the other saw nothing."""
    for key in state.graph.named.get(channel.peer, ()):
        workload = state.workloads[key]
        if _is_fresh(state, workload):
            channel.received = _more(channel.received, _one_side(workload, written, channel))


def _more(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)


def _one_side(workload: Workload, names: tuple[str, ...], channel: Channel) -> float | None:
    """Notes bytes and requests; requests per second that this side sends, None if their direction was not counted."""
    traffic, requests, calls = workload.traffic, workload.requests, workload.calls
    if traffic is not None:
        flow = 0.0
        for name in names:
            value = traffic.get(name)
            if value is not None and known(value):
                flow += float(value)
        channel.traffic = flow if channel.traffic is None else max(channel.traffic, flow)
    if requests is not None:
        counted = [float(requests[name]) for name in names if known(requests.get(name))]
        if counted:
            channel.rate = max(channel.rate or 0.0, sum(counted))
    return None if calls is None else sum(amount(calls, name) for name in names)


def _direct(state: ClusterState, own: Name, channel: Channel) -> None:
    """Who calls: as counted; else the one side that says so; else the lower index, and without indices each may.

    Static affinity stands on both ends of a channel, so that both sides saying so tells nothing.
    """
    if channel.sent or channel.received:
        channel.calls, channel.called = bool(channel.sent), bool(channel.received) or channel.users
        return
    if channel.users or channel.calls != channel.called:
        return
    here, there = _index(state, own), _index(state, channel.peer) if channel.peer[0] == own[0] else None
    if here is not None and there is not None and here != there:
        channel.calls, channel.called = here < there, here > there
    elif not channel.called:
        channel.calls = True


def _index(state: ClusterState, name: Name) -> int | None:
    return next((state.workloads[key].index for key in state.graph.named.get(name, ())), None)


def _count_requests(found: list[Channel]) -> None:
    """From here on `traffic` is in requests, if any were counted."""
    counted = [each for each in found if each.rate and each.traffic]
    if not counted:
        return
    size = sum(each.traffic or 0.0 for each in counted) / sum(each.rate or 0.0 for each in counted)
    for each in found:
        if each.traffic is not None:
            each.traffic = each.rate if each.rate is not None else each.traffic / size


def _weigh(found: list[Channel]) -> None:
    _count_requests(found)
    callers = [each for each in found if each.called]
    incoming = sum(each.traffic or 0.0 for each in callers)
    busiest = max((each.traffic or 0.0 for each in found), default=0.0)
    through = incoming or busiest
    pull = sum(each.affinity or 1.0 for each in callers)
    strongest = min(SYNCHRONOUS_PRIORITY, max((each.affinity for each in found), default=0.0))
    for each in found:
        trips = 0.0
        if each.called:
            measured = each.traffic is not None and incoming > 0
            trips = (each.traffic or 0.0) / incoming if measured else (each.affinity or 1.0) / pull
        if each.calls:
            trips += 1.0 if each.traffic is None or through == 0 else min(MOST_CALLS, each.traffic / through)
        if each.affinity > 0 or each.synchronous is not None:
            trips = max(trips, IDLE)
        each.weight = trips * _importance(each, strongest)


def _importance(channel: Channel, strongest: float) -> float:
    if channel.synchronous is not None:
        return 1.0 if channel.synchronous else ASYNCHRONOUS
    return min(1.0, channel.affinity / strongest) if channel.affinity > 0 else 1.0
