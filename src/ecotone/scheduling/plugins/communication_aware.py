"""CommunicationAware: peers attract, the nearer the stronger (CLOSER 2022, section 3.4, algorithm 1).

    affinity(p, q) = alpha priority(channel) + beta traffic(channel)
    score(n) = sum over nodes m of W(n, m) x sum over pods q on m of affinity(p, q)
    W(n, n) = gamma, W(n, m) = 1 / latency(n, m)

Channels are those of the pod's own workload, and every pod of a peer counts in full, as the algorithm states it
(`perPod: false` spreads a peer's value over its pods instead). The paper names no values: alpha, beta and gamma are 1.

Deviations: the score is brought to 0..100 by min-max. An unknown latency takes the largest known one, so a node nobody
measured attracts least. Two different nodes at 0 ms count as one (gamma), where the formula has no value.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.errors import InputError
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.peers import by_node, own_peers, talks_to_itself
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick


class CommunicationAware:
    name = "CommunicationAware"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        perPod: bool = True,  # noqa: N803 - spelt as in the profile
    ) -> None:
        if min(alpha, beta, gamma) < 0:
            raise InputError(f"CommunicationAware: alpha {alpha:g}, beta {beta:g}, gamma {gamma:g} may not be negative")
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.per_pod = perPod

    def placement_changes(self, cycle: Cycle) -> Change:
        return "everything" if talks_to_itself(cycle.state, cycle.pod.kind) else "nothing"

    def targets(self, cycle: Cycle) -> tuple[Rows, Floats]:
        peers = own_peers(cycle.state, cycle.pod.kind)
        values = [self.alpha * peer.affinity + self.beta * peer.traffic for peer in peers]
        return by_node(peers, values, size=len(cycle.state.nodes), per_pod=self.per_pod)

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        network = cycle.state.network
        targets, weights = self.targets(cycle)
        if len(targets) and not network.anything_known:
            return np.full(len(rows), np.nan)
        total = np.zeros(len(rows))
        for target, weight in zip(targets.tolist(), weights.tolist(), strict=True):
            away = pick(network.toward(target), rows, cycle)
            total += weight * np.divide(1.0, away, out=np.full(len(rows), self.gamma), where=away > 0)
        return total

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:  # noqa: ARG002 - the protocol's shape
        return min_max(raw)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        if np.isnan(raw):
            return "no latency known"
        targets, weights = self.targets(cycle)
        if not len(targets):
            return "no peers placed yet"
        network = cycle.state.network
        away = sum(
            weight * float(network.toward(target)[row])
            for target, weight in zip(targets.tolist(), weights.tolist(), strict=True)
        )
        return f"{away / weights.sum():.3g} ms on average to peers on {len(targets)} nodes"
