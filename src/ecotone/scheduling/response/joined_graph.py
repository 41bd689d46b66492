"""Several applications as one: the same calls, users and nodes, and J the mean over all of their users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.columns.nodes import CPU
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.cost import LEAST_USE, used_share
from ecotone.scheduling.costs.deadlines import Lateness
from ecotone.scheduling.response.call_graph import CallGraph, Calls, callers_first
from ecotone.scheduling.response.graph import ZONE, deadlines_of, round_trips


def joined(
    state: ClusterState, parts: Sequence[CallGraph], lateness: Lateness, *, beside: Rows | None = None
) -> CallGraph:
    """Workloads in the order of the parts, over the nodes that matter to any of them, and to these beside."""
    every = [*(part.rows for part in parts), *(() if beside is None else (beside,))]
    rows = np.unique(np.concatenate(every)).astype(np.intp)
    where = [np.searchsorted(rows, part.rows) for part in parts]
    names = tuple(name for part in parts for name in part.names)
    first = np.cumsum([0, *(len(part.names) for part in parts)]).tolist()
    counts = np.zeros((len(names), len(rows)), dtype=np.int64)
    users = np.zeros((len(names), len(rows)))
    calls: list[Calls] = []
    cores = np.maximum(state.nodes.allocatable[rows, CPU].astype(np.float64), LEAST_USE) / 1000
    busy: Floats = used_share(state, state.nodes.all_rows, by=names[0][0])[rows] * cores * 1000
    other = busy.copy()
    for part, places, start in zip(parts, where, first, strict=False):
        end = start + len(part.names)
        counts[start:end, places] = part.counts
        users[start:end, places] = part.users
        calls += [replace(call, caller=call.caller + start, callee=call.callee + start) for call in part.calls]
        other[places] -= _own(busy[places], part.other)
    rtt = round_trips(state, rows)
    order, cyclic = callers_first(len(names), calls)
    index = {name: number for number, name in enumerate(names)}
    return CallGraph(
        names=names,
        kinds=tuple(kind for part in parts for kind in part.kinds),
        rows=rows,
        counts=counts,
        calls=tuple(calls),
        users=users,
        balance=tuple(each for part in parts for each in part.balance),
        zones=state.nodes.labels(ZONE)[0][rows].astype(np.int64),
        rtt=rtt,
        use=np.concatenate([part.use for part in parts]),
        other=np.maximum(0.0, other),
        cores=cores,
        rate=sum(part.rate for part in parts),
        order=order,
        cyclic=cyclic,
        deadlines=tuple(deadlines_of(state, index, calls, rtt, lateness)),
        unawaited=max(part.unawaited for part in parts),
    )


def _own(busy: Floats, other: Floats) -> Floats:
    """What of a node's use is the application's, as it was told apart when the application was read."""
    found: Floats = np.maximum(0.0, busy - other)
    return found
