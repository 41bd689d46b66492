"""Nas: latency, bandwidth and loss to the peers, however much is said (network-aware scheduling baseline).

    raw(n) = - sum over peer pods q on nodes m of
               latency(n, m)/latency_max + (1 - bandwidth(n, m)/bandwidth_max) + loss(n, m)/loss_max

Peers are the pods of workloads with traffic; how much traffic does not matter. Maxima are over all candidate nodes and
peers, a peer on the node itself costs nothing, a quantity that is 0 everywhere or known nowhere adds nothing.

Deviations: the public baseline reads a missing latency or loss as 0, that is as the best, and rounds the sum to an integer.
Here a missing latency follows the common rule (largest known), a missing bandwidth counts as none, a missing loss as the
largest known one; both directions of a pair are tried first. Floats stay floats.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.columns.network import is_stale, known
from ecotone.model.objects import Node
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.peers import by_node, own_peers
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick


class Nas:
    name = "Nas"
    placement_changes: Change | None = "everything"

    def targets(self, cycle: Cycle) -> tuple[Rows, Floats]:
        peers = own_peers(cycle.state, cycle.pod.kind, static=False)
        return by_node(peers, [1.0] * len(peers), size=len(cycle.state.nodes), per_pod=True)

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        state = cycle.state
        targets, pods = self.targets(cycle)
        if not len(targets):
            return np.zeros(len(rows))
        elsewhere = np.arange(len(state.nodes))[:, np.newaxis] != targets
        candidates = state.nodes.all_rows if cycle.feasible is None else cycle.feasible
        latency = np.stack([state.network.toward(target) for target in targets.tolist()], axis=1)
        bandwidth = _measured(state, targets, "bandwidths")
        loss = _measured(state, targets, "losses")
        parts = _share(latency, candidates, elsewhere)
        most = _largest(bandwidth, candidates, elsewhere)
        if most > 0:
            parts = parts + (1 - np.minimum(np.nan_to_num(bandwidth) / most, 1.0))
        worst = _largest(loss, candidates, elsewhere)
        if worst > 0:
            parts = parts + np.minimum(np.where(np.isnan(loss), worst, loss) / worst, 1.0)
        cost = (np.where(elsewhere, parts, 0.0) * pods).sum(axis=1)
        found: Floats = 0.0 - pick(cost, rows, cycle)
        return found

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        return min_max(raw)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        targets, pods = self.targets(cycle)
        if not len(targets):
            return "no peers placed yet"
        away = sum(float(cycle.state.network.toward(target)[row]) for target in targets.tolist()) / len(targets)
        return f"{away:.3g} ms on average to {pods.sum():.0f} peers, network cost {-raw:.3g}"


def _share(values: Floats, candidates: Rows, elsewhere: Floats) -> Floats:
    most = _largest(values, candidates, elsewhere)
    return np.minimum(values / most, 1.0) if most > 0 else np.zeros_like(values)


def _largest(values: Floats, candidates: Rows, elsewhere: Floats) -> float:
    counted = np.where(elsewhere, np.nan_to_num(values), 0.0)[candidates]
    return float(counted.max(initial=0.0))


def _measured(state: ClusterState, targets: Rows, field: str) -> Floats:
    """What every node measured towards the targets, else the targets towards it; NaN where neither did."""
    nodes = state.nodes
    found = np.full((len(nodes), len(targets)), np.nan)
    if not any(getattr(node, field) for node in nodes.nodes):
        return found
    for index, target in enumerate(targets.tolist()):
        back = _fresh(state, nodes.nodes[target], field)
        name = nodes.names[target]
        for row, node in enumerate(nodes.nodes):
            values = [each for each in (_fresh(state, node, field).get(name), back.get(node.name)) if known(each)]
            if values:
                found[row, index] = values[0]
    return found


def _fresh(state: ClusterState, node: Node, field: str) -> Mapping[str, float]:
    if is_stale(node.measured_at, now=state.now, max_age=state.max_age):
        return {}
    values: Mapping[str, float] | None = getattr(node, field)
    return values or {}
