"""The cost that Ecotone minimises, in milliseconds per request: the scheduler, the descheduler and global placement ask here.

What a request through this workload would additionally wait if the pod were on node n:

    cost(n) = network(n) + cpu(n) + price(n)

* network: round trips over the pod's channels (`channels`, `lookahead`) times their latency. Unknown latencies take the
  largest known one.
* cpu: queueing at the utilisation u that the placement implies. A request needs `service_ms` of CPU; on c cores it waits
  Sakasegawa's approximation of the M/M/c queue, w(u) = u^(sqrt(2(c+1))-1) / (c (1-u)) times that, continued by its tangent
  beyond 95 % so that an overloaded node is bad but not infinitely so. Less than one core is one slow core: a request takes
  1/c of its time there even alone. To the pod's own wait comes what it adds to the wait
  of those already there, in proportion to the work they do: (used before) w'(u). A node that was not measured, while
  others were, counts as used as the most used one known.
* price: `price_ms` per unit of price-per-hour for the share of the node that the pod takes; enough to break ties.

Differences are in absolute milliseconds, so 0.1 ms never counts like 100 ms.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.model.availability import available, available_at, measured_now
from ecotone.model.columns.nodes import CPU, NodeTable
from ecotone.model.objects import PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.lookahead import pull_of

BUSY = 0.95
LEAST_USE = 1.0


class Model(msgspec.Struct, frozen=True):
    """What cannot be read off a cluster: CPU milliseconds of a typical request, milliseconds a unit of price is worth."""

    service_ms: float = 10.0
    price_ms: float = 1.0


DEFAULT = Model()


def cost(state: ClusterState, kind: PodKind, rows: Rows | None = None, *, model: Model = DEFAULT) -> Floats:
    """Milliseconds per request for a pod of this kind on each row (all rows by default)."""
    asked = state.nodes.all_rows if rows is None else rows
    network = network_ms(state, kind)
    near = network if asked is state.nodes.all_rows else network[asked]
    return near + cpu_ms(state, kind, asked, model=model) + price_ms(state, kind, asked, model=model)


def network_ms(state: ClusterState, kind: PodKind) -> Floats:
    """Time on the network per request, for every node; 0 everywhere as long as no latency is known."""
    targets, weights = pull_of(state, (kind.workload.namespace, kind.workload.name))
    if not len(targets) or not state.network.anything_known:
        return np.zeros(len(state.nodes))
    return state.network.weighted(targets, weights)


def cpu_ms(state: ClusterState, kind: PodKind, rows: Rows, *, model: Model = DEFAULT) -> Floats:
    if len(rows) == 1:
        return np.array([cpu_ms_at(state, kind, int(rows[0]), model=model)])
    capacity, cores, power, slow = (_pick(state, column, rows) for column in _queues(state.nodes))
    before = used_share(state, rows, by=kind.namespace)
    after = before + max(state.pod_usage(kind)[0], LEAST_USE) / capacity
    wait, slope = _waiting(after, cores, power, slow)
    found: Floats = model.service_ms * (wait + before * slope)
    return found


def cpu_ms_at(state: ClusterState, kind: PodKind, row: int, *, model: Model = DEFAULT) -> float:
    """The same for a single node, which batches ask after every placement: the same operations on plain numbers.

    Only the power is left to numpy: the last digit of Python's own may be another one.
    """
    capacities, all_cores, powers, slows = _queues(state.nodes)
    capacity, cores, power, slow = capacities.item(row), all_cores.item(row), powers.item(row), slows.item(row)
    before = max(0.0, 1 - available_at(state, row, by=kind.namespace)[0] / capacity)
    known, worst = _measured_cpu(state)
    if worst is not None and not known[row]:
        before = max(before, worst)
    after = before + max(state.pod_usage(kind)[0], LEAST_USE) / capacity
    steady = min(after, BUSY)
    free = 1 - steady
    wait = float(np.power(steady, power)) / (cores * free)
    slope = wait * (power / steady + 1 / free)
    return model.service_ms * (wait + slow + slope * (after - steady) + before * slope)


def _queues(nodes: NodeTable) -> tuple[Floats, Floats, Floats, Floats]:
    """CPU of every node in millicores and in cores, and what `waiting` makes of the cores alone."""

    def compute(table: NodeTable) -> tuple[Floats, Floats, Floats, Floats]:
        capacity: Floats = np.maximum(table.allocatable[:, CPU], LEAST_USE)
        cores = capacity / 1000
        return capacity, cores, *_shape(cores)

    return nodes.derived("queues for CPU", compute)


def used_share(state: ClusterState, rows: Rows, *, by: str) -> Floats:
    """Utilisation of each node's CPU without the pod: measured where possible, else by requests, but never flattering."""
    capacity = _pick(state, _queues(state.nodes)[0], rows)
    share: Floats = np.maximum(0.0, 1 - available(state, rows, by=by)[:, CPU] / capacity)
    known, worst = _measured_cpu(state)
    return share if worst is None else np.where(_pick(state, known, rows), share, np.maximum(share, worst))


def _measured_cpu(state: ClusterState) -> tuple[Mask, float | None]:
    """Where CPU was measured, and the highest utilisation seen if it was not measured everywhere."""
    return state.nodes.at_moment("measured CPU", (state.now, state.max_age), lambda: _measure_cpu(state))


def _measure_cpu(state: ClusterState) -> tuple[Mask, float | None]:
    nodes = state.nodes
    known: Mask = measured_now(state, nodes.all_rows)[:, CPU]
    if known.all() or not known.any():
        return known, None
    shares = 1 - nodes.measured[known, CPU] / np.maximum(nodes.allocatable[known, CPU], LEAST_USE)
    return known, float(shares.max())


def waiting(utilisation: Floats, cores: Floats) -> tuple[Floats, Floats]:
    """How many times its own service time a request waits at this utilisation (> 0), and how fast that grows."""
    return _waiting(utilisation, cores, *_shape(cores))


def _shape(cores: Floats) -> tuple[Floats, Floats]:
    """The exponent of the queue, and how many times longer a request takes: less than one core is one slow core."""
    power: Floats = np.sqrt(2 * (np.maximum(cores, 1.0) + 1)) - 1
    slow: Floats = np.maximum(1 / cores - 1, 0.0)
    return power, slow


def _waiting(utilisation: Floats, cores: Floats, power: Floats, slow: Floats) -> tuple[Floats, Floats]:
    steady = np.minimum(utilisation, BUSY)
    free = 1 - steady
    wait: Floats = steady**power / (cores * free)
    slope: Floats = wait * (power / steady + 1 / free)
    return wait + slow + slope * (utilisation - steady), slope


def price_ms(state: ClusterState, kind: PodKind, rows: Rows, *, model: Model = DEFAULT) -> Floats:
    if not state.nodes.priced:
        return np.zeros(len(rows))
    prices = _pick(state, state.nodes.price, rows)
    capacity = _pick(state, _queues(state.nodes)[0], rows)
    share = max(kind.spec.request("cpu"), state.pod_usage(kind)[0]) / capacity
    found: Floats = model.price_ms * prices * np.minimum(share, 1.0)
    return found


def _pick(state: ClusterState, column: Any, rows: Rows) -> Any:
    return column if rows is state.nodes.all_rows else column[rows]
