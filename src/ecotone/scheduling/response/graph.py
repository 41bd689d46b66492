"""The applications of a cluster, read off its counted calls.

An application is a connected part of the graph of counted calls, members of one app-group counting as connected: what has
nothing to do with each other is judged apart, and only shares nodes. Nobody waits for an asynchronous call: it counts by
`unawaited`, so little that it decides between placements that are alike to users and never against them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from ecotone.model.arrays import Floats, Ints, Rows
from ecotone.model.columns.nodes import CPU
from ecotone.model.objects import USERS, PodKind
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name, mentioned
from ecotone.scheduling.costs.channels import UNAWAITED, Channel, channels
from ecotone.scheduling.costs.cost import LEAST_USE, used_share
from ecotone.scheduling.costs.deadlines import DEFAULT as LATENESS
from ecotone.scheduling.costs.deadlines import Lateness, deadlines
from ecotone.scheduling.costs.peers import amount, requests_of, traffic_of
from ecotone.scheduling.response.call_graph import (
    SAME_NODE,
    SAME_ZONE,
    UNIFORM,
    CallGraph,
    Calls,
    Deadline,
    callers_first,
)
from ecotone.scheduling.response.prediction import Prediction

Group = tuple[str, str]
ZONE = "topology.kubernetes.io/zone"
DISTRIBUTIONS = {"PreferSameNode": SAME_NODE, "PreferSameZone": SAME_ZONE, "PreferClose": SAME_ZONE}
MOST_NODES = 48  # beyond those in use: the best by the network alone
_NEAREST = 16
_LEAST_BYTES = 80.0  # of a call and its answer: IP and TCP headers alone


def applications(
    state: ClusterState,
    *,
    around: Collection[Name] | None = None,
    beside: Collection[str] = (),
    lateness: Lateness = LATENESS,
    unawaited: float = UNAWAITED,
) -> Iterator[CallGraph]:
    """Every application whose users' requests are counted, in the order of its first workload's name.

    `around`: those alone that have one of these workloads, found without going through the whole cluster; `beside`: nodes
    that matter whether anything of the application is there or not; `lateness`: what missed deadlines cost; `unawaited`: what a
    millisecond of a call that nobody waits for counts.
    """
    if not state.network.anything_known:
        return
    names = sorted(state.named) if around is None else sorted(_reached(state, around))
    graph = _Graph(state, names, unawaited=unawaited)
    for names in graph.parts():
        if around is not None and not any(name in around for name in names):
            continue
        found = graph.application(names, beside=beside, lateness=lateness)
        if found is not None:
            yield found


def _reached(state: ClusterState, around: Iterable[Name]) -> set[Name]:
    """These workloads, their app-groups, whoever they speak of or who speaks of them, and so on."""
    groups: dict[Group, list[Name]] | None = None
    found, joined = set(around), set(map(partial(_group_of, state), around))
    waiting = list(found)
    while waiting:
        own = waiting.pop()
        near = {(key.namespace, key.name) for key in state.graph.mentioned_by.get(own, ())}
        for key in state.graph.named.get(own, ()):
            near |= mentioned(state.workloads[key])
        group = _group_of(state, own)
        if group is not None and group not in joined:
            joined.add(group)
            groups = groups or _groups(state)
            near.update(groups[group])
        waiting += near - found
        found |= near
    return found & state.named.keys()


def _group_of(state: ClusterState, name: Name) -> Group | None:
    group = next((kind.app_group for kind in state.named.get(name, ())), None)
    return None if group is None else (name[0], group)


def _groups(state: ClusterState) -> dict[Group, list[Name]]:
    found: dict[Group, list[Name]] = {}
    for name in state.named:
        group = _group_of(state, name)
        if group is not None:
            found.setdefault(group, []).append(name)
    return found


class _Graph:
    """The counted calls between those of these workloads that have pods."""

    def __init__(self, state: ClusterState, names: Iterable[Name], *, unawaited: float) -> None:
        self._state = state
        self._unawaited = unawaited
        self._size: float | None = None
        self._placed = {name: kinds[0] for name in names if (kinds := self._running(name))}
        self._calls: dict[tuple[Name, Name], float] = {}
        self._users: dict[Name, dict[int, float]] = {}
        self._guessed: set[tuple[Name, Name]] = set()
        self._messages: set[tuple[Name, Name]] = set()
        self._either_way: dict[tuple[Name, Name], tuple[bool, float]] = {}
        for own in self._placed:
            if own in state.graph.named or own in state.graph.mentioned_by:
                self._listen(own)
        self._settle_directions()
        self._assume_one_call()
        self._follow_messages()

    def _running(self, name: Name) -> list[PodKind]:
        return [kind for kind in self._state.named[name] if len(self._state.usage.where(kind)[0])]

    def _listen(self, own: Name) -> None:
        """The calls that this workload makes, and the users it hears."""
        found = channels(self._state, own)
        counted = any(channel.rate for channel in found)
        for channel in found:
            # None counted: they are still in bytes.
            rate = _rate(channel, 1.0 if counted or channel.sent or not channel.traffic else self._request_size())
            if channel.synchronous is False:
                rate *= self._unawaited
            if rate <= 0.0:
                continue
            if channel.users:
                row = self._state.nodes.index.get(channel.peer[1][len(USERS) :])
                if row is not None and channel.rate is not None:
                    sites = self._users.setdefault(own, {})
                    sites[row] = sites.get(row, 0.0) + rate
                continue
            if channel.peer not in self._placed or channel.peer == own:
                continue
            if channel.synchronous is False:
                self._messages.add((own, channel.peer))
            elif channel.rate is None:
                self._guessed.add((own, channel.peer))
            if channel.calls and channel.called and not channel.sent:
                self._either_way[own, channel.peer] = (counted, rate)
            elif channel.calls:
                self._calls[own, channel.peer] = rate

    def _settle_directions(self) -> None:
        """Where the direction is unknown, the side whose own requests are counted is the caller: databases count none."""
        for (own, peer), (counted, rate) in self._either_way.items():
            other, back = self._either_way.get((peer, own), (False, 0.0))
            if (counted, peer) > (other, own) or (peer, own) not in self._either_way:
                self._calls[own, peer] = rate if counted or not other else back

    def _assume_one_call(self) -> None:
        """Where nobody counts calls (a database's own protocol, say), their bytes tell only roughly how many there are.

        A request that waits for its answer is taken to make at least one of them, over the channel with most bytes, and
        over the others as many as their bytes compare with that: a cache that is always asked and a database that is asked
        if the cache does not know differ in nothing else. No channel has more calls than its bytes allow.
        """
        incoming = {name: sum(sites.values()) for name, sites in self._users.items()}
        for (_, callee), rate in self._calls.items():
            incoming[callee] = incoming.get(callee, 0.0) + rate
        guessed: dict[Name, list[Name]] = {}
        for caller, callee in sorted(self._guessed & self._calls.keys()):
            guessed.setdefault(caller, []).append(callee)
        for caller, callees in guessed.items():
            busiest = max(self._calls[caller, callee] for callee in callees)
            factor = max(1.0, incoming.get(caller, 0.0) / busiest)
            for callee in callees:
                most = self._bytes(caller, callee) / _LEAST_BYTES
                self._calls[caller, callee] = max(
                    self._calls[caller, callee], min(factor * self._calls[caller, callee], most)
                )

    def _follow_messages(self) -> None:
        """What is only called because of a message is waited for as little as the message is."""
        if not self._messages:
            return
        called = {callee for _, callee in self._calls}
        waits = self._beyond(self._users.keys() | (self._placed.keys() - called))
        after = self._beyond({callee for _, callee in self._messages}) - waits
        for (caller, callee), rate in self._calls.items():
            if caller in after and (caller, callee) not in self._messages:
                self._calls[caller, callee] = rate * self._unawaited
                self._messages.add((caller, callee))

    def _beyond(self, start: Collection[Name]) -> set[Name]:
        """These and whoever is called from there, one waiting for the other."""
        found, waiting = set(start), list(start)
        callees: dict[Name, list[Name]] = {}
        for caller, callee in self._calls.keys() - self._messages:
            callees.setdefault(caller, []).append(callee)
        while waiting:
            new = set(callees.get(waiting.pop(), ())) - found
            found |= new
            waiting += new
        return found

    def _bytes(self, own: Name, peer: Name) -> float:
        names = (peer[1], "/".join(peer)) if own[0] == peer[0] else ("/".join(peer),)
        found = [
            amount(traffic_of(self._state, self._state.workloads[key]), name)
            for key in self._state.graph.named.get(own, ())
            for name in names
        ]
        return sum(found)

    def _request_size(self) -> float:
        """Bytes of a request, there and back, over all channels on which requests were counted; one if none were.

        Of the whole cluster, whichever part of it is looked at.
        """
        if self._size is None:
            self._size = self._measure_requests()
        return self._size

    def _measure_requests(self) -> float:
        size = count = 0.0
        for name in sorted(self._state.named):
            if not self._running(name):
                continue
            for key in self._state.graph.named.get(name, ()):
                workload = self._state.workloads[key]
                traffic, requests = traffic_of(self._state, workload) or {}, requests_of(self._state, workload) or {}
                for peer in requests:
                    if amount(requests, peer) > 0.0 and amount(traffic, peer) > 0.0:
                        size += amount(traffic, peer)
                        count += amount(requests, peer)
        return size / count if count else 1.0

    def parts(self) -> Iterator[list[Name]]:
        """Connected workloads, each part sorted."""
        neighbours: dict[Name, set[Name]] = {name: set() for name in self._users}
        for caller, callee in self._calls:
            neighbours.setdefault(caller, set()).add(callee)
            neighbours.setdefault(callee, set()).add(caller)
        self._join_groups(neighbours)
        left = set(neighbours)
        for start in sorted(neighbours):
            if start not in left:
                continue
            part, waiting = [], [start]
            left.discard(start)
            while waiting:
                here = waiting.pop()
                part.append(here)
                reached = neighbours[here] & left
                left -= reached
                waiting += reached
            yield sorted(part)

    def _join_groups(self, neighbours: dict[Name, set[Name]]) -> None:
        """Workloads of one app-group belong together whether they talk or not: one may stand in another's way."""
        first: dict[tuple[str, str], Name] = {}
        for name in sorted(neighbours):
            group = self._placed[name].app_group
            if group is not None:
                other = first.setdefault((name[0], group), name)
                neighbours[name].add(other)
                neighbours[other].add(name)

    def application(
        self, names: list[Name], *, beside: Collection[str] = (), lateness: Lateness = LATENESS
    ) -> CallGraph | None:
        """None if nobody's requests into it are counted."""
        state = self._state
        index = {name: number for number, name in enumerate(names)}
        calls = tuple(
            Calls(index[caller], index[callee], rate, awaited=(caller, callee) not in self._messages)
            for (caller, callee), rate in sorted(self._calls.items())
            if caller in index
        )
        rate = sum(sum(self._users.get(name, {}).values()) for name in names)
        if rate <= 0.0:
            return None
        size = len(state.nodes)
        counts = np.zeros((len(names), size), dtype=np.int64)
        users = np.zeros((len(names), size))
        for number, name in enumerate(names):
            for kind in self._running(name):
                rows, amounts = state.usage.where(kind)
                counts[number, rows] += amounts
            for row, share in self._users.get(name, {}).items():
                users[number, row] += share
        order, cyclic = callers_first(len(names), calls)
        extra = [state.nodes.index[name] for name in beside if name in state.nodes.index]
        rows = np.union1d(nodes_that_matter(state, counts, users, calls), extra).astype(np.intp)
        kinds = tuple(self._placed[name] for name in names)
        use = np.array([state.pod_usage(kind)[0] for kind in kinds]) * counts.sum(axis=1)
        cores = np.maximum(state.nodes.allocatable[rows, CPU].astype(np.float64), LEAST_USE) / 1000
        busy = used_share(state, state.nodes.all_rows, by=names[0][0])[rows] * cores * 1000
        rtt = round_trips(state, rows)
        found = CallGraph(
            names=tuple(names),
            kinds=kinds,
            rows=rows,
            counts=counts[:, rows],
            calls=calls,
            users=users[:, rows],
            balance=tuple(balance_of(state, kind) for kind in kinds),
            zones=state.nodes.labels(ZONE)[0][rows].astype(np.int64),
            rtt=rtt,
            use=use,
            other=np.zeros(len(rows)),
            cores=cores,
            rate=rate,
            order=order,
            cyclic=cyclic,
            deadlines=tuple(deadlines_of(state, index, calls, rtt, lateness)),
            unawaited=self._unawaited,
        )
        own = use @ Prediction(found).arrivals(found.counts[np.newaxis].astype(np.float64))[0]
        return replace(found, other=np.maximum(0.0, busy - own))


def deadlines_of(
    state: ClusterState, index: Mapping[Name, int], calls: Iterable[Calls], rtt: Floats, lateness: Lateness
) -> Iterator[Deadline]:
    """Of the channels that are in use, since what is never called is never late; once for a pair that calls each other."""
    names = list(index)
    seen: set[tuple[int, int]] = set()
    for call in calls:
        if (call.callee, call.caller) in seen:
            continue
        seen.add((call.caller, call.callee))
        for peer, most, _ in deadlines(state, names[call.caller]):
            if peer == names[call.callee]:
                yield Deadline(call.caller, call.callee, lateness.price(rtt, most))


def _rate(channel: Channel, unit: float) -> float:
    flow = (channel.traffic or 0.0) / unit
    if channel.sent:
        flow = channel.sent
    return flow


def balance_of(state: ClusterState, kind: PodKind) -> int:
    """How calls to pods of this kind are spread: as the nearest-first Service among those that select them says."""
    labels = dict(kind.labels)
    found = [
        DISTRIBUTIONS.get(service.traffic_distribution or "", UNIFORM)
        for service in state.services_in(kind.namespace)
        if service.traffic_distribution and service.selector.matches(labels)
    ]
    return max(found, default=UNIFORM)


def round_trips(state: ClusterState, rows: Rows) -> Floats:
    found = np.stack([state.network.toward(row)[rows] for row in rows.tolist()], axis=1)
    both: Floats = (found + found.T) / 2
    return both


def nodes_that_matter(state: ClusterState, counts: Ints, users: Floats, calls: Iterable[Calls]) -> Rows:
    """All of a small cluster; of a large one those in use, the users' sites, and those nearest to all of them."""
    size = counts.shape[1]
    if size <= MOST_NODES:
        return state.nodes.all_rows
    used = np.flatnonzero(counts.any(axis=0) | (users > 0).any(axis=0))
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    weight = users.sum(axis=0)
    for call in calls:
        weight = weight + call.rate * (shares[call.caller] + shares[call.callee])
    toward = np.flatnonzero(weight)
    far = state.network.weighted(toward, weight[toward])
    nearest = np.lexsort((state.nodes.rank, far))[:_NEAREST]
    return np.union1d(used, nearest).astype(np.intp)
