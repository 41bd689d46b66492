"""Applications of which nobody has measured anything yet: what their channels declare, and what is assumed beside it.

Before the first request, who talks to whom is known (affinity, synchronous or not, who calls), and how far nodes are from
each other; how much is asked, and from where, is not. So:

* a request makes one call over every channel, and a channel that is not waited for counts as in the measured graph; what
  comes after it counts no more than it does;
* users enter where a workload says so (`users@NODE`), else at the nodes of the edge tier alike, else anywhere alike. In
  large clusters, and where it is not known who calls whom, nobody guesses;
* the load is unknown: it is taken to need `LOAD` of the largest node's CPU, the same for every call. So an application
  goes to small nodes only if it could have much of the large one as well, and to the large one otherwise.

A part of the graph in which any traffic was measured, be it none at all, is left to what was measured.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from ecotone.model.arrays import Floats
from ecotone.model.columns.nodes import CPU
from ecotone.model.objects import USERS, PodKind
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.costs.channels import Channel, channels
from ecotone.scheduling.costs.cost import DEFAULT, LEAST_USE, used_share
from ecotone.scheduling.costs.deadlines import Lateness
from ecotone.scheduling.response.call_graph import CallGraph, Calls, callers_first
from ecotone.scheduling.response.graph import (
    MOST_NODES,
    ZONE,
    balance_of,
    deadlines_of,
    nodes_that_matter,
    round_trips,
)

LOAD = 0.25
_EDGE = "edge"

Parts = dict[Name, list[Channel]]


def declared_applications(
    state: ClusterState, around: Collection[Name], *, most: int, lateness: Lateness
) -> Iterator[CallGraph]:
    """Those that have one of these workloads and more than one that has pods; `most`: workloads times nodes looked at."""
    if not state.network.anything_known:
        return
    seen: set[Name] = set()
    for start in sorted(around):
        if start in seen or start not in state.graph.named:
            continue
        part = _part(state, start, most // max(1, min(len(state.nodes), MOST_NODES)))
        seen |= part.keys()
        if len(part) > 1 and not any(_measured(each) for found in part.values() for each in found):
            yield _graph(state, part, lateness)


def _measured(channel: Channel) -> bool:
    return channel.traffic is not None or channel.rate is not None


def _part(state: ClusterState, start: Name, most: int) -> Parts:
    """The workloads with pods that channels of one namespace join to this one, with all their channels; none if too many."""
    found: Parts = {}
    waiting = [start]
    while waiting:
        own = waiting.pop()
        if own not in found and _kind(state, own) is not None:
            found[own] = channels(state, own)
            if len(found) > most:
                return {}
            waiting += [each.peer for each in found[own] if not each.users and each.peer[0] == own[0]]
    return {name: found[name] for name in sorted(found)}


def _kind(state: ClusterState, name: Name) -> PodKind | None:
    return next((kind for kind in state.named.get(name, ()) if len(state.usage.where(kind)[0])), None)


def _graph(state: ClusterState, part: Parts, lateness: Lateness) -> CallGraph:
    names = list(part)
    index = {name: number for number, name in enumerate(names)}
    weights, sure = _calls(part, index)
    came, calls = _assumed(len(names), weights)
    entries = [number for number in range(len(names)) if not any(callee == number for _, callee in weights)]
    counts = np.zeros((len(names), len(state.nodes)), dtype=np.int64)
    for number, name in enumerate(names):
        for each in state.named[name]:
            rows, amounts = state.usage.where(each)
            counts[number, rows] += amounts
    users = np.zeros((len(names), len(state.nodes)))
    for number in entries if sure else ():
        users[number] = _entering(state, part[names[number]])
    rows = nodes_that_matter(state, counts, users, calls)
    rows = rows[np.argsort(state.nodes.rank[rows], kind="stable")]  # so that the order of nodes decides nothing
    kinds = tuple(kind for name in names if (kind := _kind(state, name)) is not None)
    cores = np.maximum(state.nodes.allocatable[rows, CPU].astype(np.float64), LEAST_USE) / 1000
    work = np.array([0.0 if _external(state, kind) else each for kind, each in zip(kinds, came, strict=True)])
    scale = LOAD * 1000 * float(cores.max(initial=0.0)) / max(DEFAULT.service_ms * float(work.sum()), 1e-9)
    calls = tuple(Calls(each.caller, each.callee, scale * each.rate) for each in calls)
    asked = np.array([state.pod_usage(kind)[0] for kind in kinds])  # what their pods count for before they are measured
    busy = used_share(state, state.nodes.all_rows, by=names[0][0])[rows] * cores * 1000
    order, cyclic = callers_first(len(names), calls)
    rtt = round_trips(state, rows)
    return CallGraph(
        names=tuple(names),
        kinds=kinds,
        rows=rows,
        counts=counts[:, rows],
        calls=calls,
        users=scale * users[:, rows],
        balance=tuple(balance_of(state, kind) for kind in kinds),
        zones=state.nodes.labels(ZONE)[0][rows].astype(np.int64),
        rtt=rtt,
        use=scale * DEFAULT.service_ms * work,
        other=np.maximum(0.0, busy - asked @ counts[:, rows]),
        cores=cores,
        rate=scale * max(len(entries), 1),
        order=order,
        cyclic=cyclic,
        deadlines=tuple(deadlines_of(state, index, calls, rtt, lateness)),
    )


def _calls(part: Parts, index: dict[Name, int]) -> tuple[dict[tuple[int, int], float], bool]:
    """How much a call over each channel counts, caller first; and whether it is known of all of them who calls."""
    found: dict[tuple[int, int], float] = {}
    sure = True
    for own, known in part.items():
        for channel in known:
            if not channel.calls or channel.users or channel.peer not in index or channel.peer == own:
                continue
            caller, callee = index[own], index[channel.peer]
            if channel.called:
                sure = False
                caller, callee = min(caller, callee), max(caller, callee)
            found[caller, callee] = max(found.get((caller, callee), 0.0), min(1.0, channel.weight))
    return found, sure


def _assumed(size: int, weights: dict[tuple[int, int], float]) -> tuple[list[float], tuple[Calls, ...]]:
    """Requests that reach each workload if one enters wherever nobody else calls, and the calls they make."""
    order, _ = callers_first(size, [Calls(caller, callee, 1.0) for caller, callee in weights])
    called = {callee for _, callee in weights}
    came = [0.0 if number in called else 1.0 for number in range(size)]
    if not any(came):
        came[order[0]] = 1.0  # they call in a circle
    for caller in order:
        for (own, callee), weight in weights.items():
            if own == caller:
                came[callee] += came[caller] * weight
    calls = tuple(Calls(a, b, came[a] * weight) for (a, b), weight in sorted(weights.items()))
    return came, calls


def _entering(state: ClusterState, known: list[Channel]) -> Floats:
    """Where one request per second comes from, by node."""
    nodes = state.nodes
    found = np.zeros(len(nodes))
    for channel in known:
        row = nodes.index.get(channel.peer[1][len(USERS) :]) if channel.users else None
        if row is not None:
            found[row] += channel.affinity
    if not found.any() and len(nodes) <= MOST_NODES:
        edge = np.array([node.tier == _EDGE for node in nodes.nodes])
        found[edge if edge.any() else slice(None)] = 1.0
    return found / max(float(found.sum()), 1e-9)


def _external(state: ClusterState, kind: PodKind) -> bool:
    workload = state.workloads.get(kind.workload)
    return workload is not None and workload.external
