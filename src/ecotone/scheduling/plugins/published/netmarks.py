"""NetMarks: traffic to the peers that are already on the node (NetMARKS, INFOCOM 2021).

    raw(n) = sum of the traffic to peers on n

Only co-location counts: neither latency nor what lies near. Traffic is known per pair of workloads, so a peer with R pods
has 1/R of it at each (`perPod: true` counts it in full for every pod, as a public reimplementation does).

Deviations: normalised by min-max over the feasible nodes like the other published terms, where the original scales by the
maximum; without any traffic both leave all nodes equal.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.scheduling.costs.peers import by_node, own_peers, talks_to_itself
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick


class NetMarks:
    name = "NetMarks"

    def __init__(self, *, perPod: bool = False) -> None:
        self.per_pod = perPod

    def placement_changes(self, cycle: Cycle) -> Change:
        return "everything" if talks_to_itself(cycle.state, cycle.pod.kind) else "nothing"

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        state = cycle.state
        peers = own_peers(state, cycle.pod.kind, static=False)
        targets, weights = by_node(peers, [peer.traffic for peer in peers], size=len(state.nodes), per_pod=self.per_pod)
        here = np.zeros(len(state.nodes))
        here[targets] = weights
        found: Floats = pick(here, rows, cycle)
        return found

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
        return min_max(raw)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        return f"{raw * 8 / 1e6:.3g} Mbit/s to peers on the node"
