"""What a node has left to give, as well as anybody knows.

A measurement says what was not in use at that moment. Pods that came since are not in it, so their usage is taken off; a
pod judged as if removed gives its own back. Where nothing usable was measured, the requests of the pods on the node are the
next best figure: allocatable minus requested.

Who asks matters: what another tenant says of his own pods is believed by nobody else (`ClusterState.vouched`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.model.columns.network import FUTURE, is_stale
from ecotone.model.state import ClusterState


def available(state: ClusterState, rows: Rows, *, by: str) -> Floats:
    """CPU (millicores) and memory (bytes) not in use, one line per row, as counted by a pod of the namespace `by`."""
    if len(rows) == 1:
        return np.array([available_at(state, int(rows[0]), by=by)])
    nodes, usage = state.nodes, state.usage
    whole = rows is nodes.all_rows
    now = _measured(state)
    measured = nodes.measured if whole else nodes.measured[rows]
    if usage.recent and now.anything:
        measured = measured - recent_use(state, rows, by=by)
    if now.everything:
        return measured
    by_requests = (
        nodes.allocatable[:, :2] - usage.requested[:, :2]
        if whole
        else nodes.allocatable[rows, :2] - usage.requested[rows, :2]
    )
    if not now.anything:
        return by_requests.astype(np.float64)
    found: Floats = np.where(now.known if whole else now.known[rows], measured, by_requests)
    return found


def measured_now(state: ClusterState, rows: Rows) -> Mask:
    """Where a usable, fresh measurement of CPU and of memory exists."""
    return _measured(state).known if rows is state.nodes.all_rows else _measured(state).known[rows]


def anything_measured(state: ClusterState) -> bool:
    """True if such a measurement exists anywhere."""
    return _measured(state).anything


class _Measured(NamedTuple):
    known: Mask
    everything: bool
    anything: bool


def _measured(state: ClusterState) -> _Measured:
    return state.nodes.at_moment("measured", (state.now, state.max_age), lambda: _look(state))


def _look(state: ClusterState) -> _Measured:
    age = state.now - state.nodes.measured_at
    # Without a moment (infinitely late) a measurement counts as fresh; one from the future does not.
    fresh = ((age <= state.max_age) & (age >= -FUTURE)) | np.isneginf(age)
    known: Mask = ~np.isnan(state.nodes.measured) & fresh[:, np.newaxis]
    known.flags.writeable = False
    return _Measured(known, bool(known.all()), bool(known.any()))


def recent_use(state: ClusterState, rows: Rows, *, by: str) -> Floats:
    """Usage of the pods that the measurements do not contain yet."""
    total = np.zeros((len(state.nodes), 2))
    for kind, counts in state.usage.recent.items():
        places, amounts = counts.vectors
        total[places] += np.multiply.outer(amounts, state.usage_counted_by(by, kind))
    return total if rows is state.nodes.all_rows else total[rows]


def available_at(state: ClusterState, row: int, *, by: str) -> tuple[float, float]:
    """The same for a single node, which batches ask after every placement."""
    nodes = state.nodes
    fresh = not is_stale(nodes.nodes[row].measured_at, now=state.now, max_age=state.max_age)
    cpu, memory = nodes.measured[row].tolist() if fresh else (math.nan, math.nan)
    if math.isnan(cpu) and math.isnan(memory):
        return _left_by_requests(state, row)
    new_cpu = new_memory = 0.0
    for kind, counts in state.usage.recent.items():
        count = counts.get(row, 0)
        if count:
            use = state.usage_counted_by(by, kind)
            new_cpu += count * use[0]
            new_memory += count * use[1]
    return (
        _left_by_requests(state, row)[0] if math.isnan(cpu) else cpu - new_cpu,
        _left_by_requests(state, row)[1] if math.isnan(memory) else memory - new_memory,
    )


def _left_by_requests(state: ClusterState, row: int) -> tuple[float, float]:
    size, taken = state.nodes.allocatable, state.usage.requested
    return size.item(row, 0) - taken.item(row, 0), size.item(row, 1) - taken.item(row, 1)
