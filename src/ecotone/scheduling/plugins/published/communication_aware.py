"""CommunicationAware: peers attract, the nearer the stronger (CLOSER 2022, section 3.4, algorithm 1).

    affinity(p, q) = alpha priority(channel) + beta traffic(channel)
    score(n) = sum over nodes m of W(n, m) x sum over pods q on m of affinity(p, q)
    W(n, n) = gamma, W(n, m) = 1 / latency(n, m)

Channels are those of the whole application graph, so both ends of a channel attract each other whichever of them lists
it, and every pod of a peer counts in full, as the algorithm states it (`perPod: false` spreads a peer's value over its pods
instead). The scores are added to those of the other plugins (3.4). The paper names no values: alpha and beta are 1, and
gamma is twice the largest 1/latency known, so that a peer's own node never ranks below a near neighbour of it.

Deviations: the score is brought to 0..100 by min-max, as kube-scheduler demands of what is added to its own. An unknown
latency takes the largest known one, so a node nobody measured attracts least. Two different nodes at 0 ms count as one
(gamma), where the formula has no value.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.errors import InputError
from ecotone.scheduling.costs.peers import Peer, by_node, graph_peers, talks_to_itself
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick

_MOST_PEERS = 3


class CommunicationAware:
    name = "CommunicationAware"

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        beta: float = 1.0,
        gamma: float | None = None,
        perPod: bool = True,
    ) -> None:
        if min(alpha, beta, gamma or 0.0) < 0:
            given = f"alpha {alpha:g}, beta {beta:g}" + ("" if gamma is None else f", gamma {gamma:g}")
            raise InputError(f"CommunicationAware: {given} may not be negative")
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.per_pod = perPod

    def placement_changes(self, cycle: Cycle) -> Change:
        return "everything" if talks_to_itself(cycle.state, cycle.pod.kind) else "nothing"

    def targets(self, cycle: Cycle) -> tuple[Rows, Floats]:
        peers = graph_peers(cycle.state, cycle.pod.kind)
        values = [self._affinity(peer) for peer in peers]
        return by_node(peers, values, size=len(cycle.state.nodes), per_pod=self.per_pod)

    def _affinity(self, peer: Peer) -> float:
        return self.alpha * peer.affinity + self.beta * peer.traffic

    def gamma_for(self, cycle: Cycle) -> float:
        """As given, else twice the largest 1/latency known; 1 where no two nodes are apart."""
        if self.gamma is not None:
            return self.gamma
        nearest = cycle.state.network.nearest
        return 1.0 if nearest is None else 2.0 / nearest

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        network = cycle.state.network
        targets, weights = self.targets(cycle)
        if len(targets) and not network.anything_known:
            return np.full(len(rows), np.nan)
        gamma = self.gamma_for(cycle)
        total = np.zeros(len(rows))
        for target, weight in zip(targets.tolist(), weights.tolist(), strict=True):
            away = pick(network.toward(target), rows, cycle)
            total += weight * np.divide(1.0, away, out=np.full(len(rows), gamma), where=away > 0)
        return total

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
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
        return f"pull {raw:.3g}; {away / weights.sum():.3g} ms on average to peers on {len(targets)} nodes"

    def account(self, cycle: Cycle, row: int, raw: float) -> str | None:
        """Which peers pull, how strongly, and how far away each is: a node beside one strong peer may beat a nearer mean."""
        pulls = sorted(self._pulls(cycle, row), key=lambda each: (-each[0], each[1]))
        if np.isnan(raw) or not pulls:
            return None
        told = [f"{words} pulls {pull:.3g}" for pull, words in pulls[:_MOST_PEERS]]
        left = pulls[_MOST_PEERS:]
        if left:
            told.append(f"{len(left)} more pull {sum(pull for pull, _ in left):.3g}")
        return f"pull {raw:.3g} = " + ", ".join(told)

    def _pulls(self, cycle: Cycle, row: int) -> Iterator[tuple[float, str]]:
        """For each peer and each node of it."""
        network, gamma = cycle.state.network, self.gamma_for(cycle)
        for peer in graph_peers(cycle.state, cycle.pod.kind):
            value = self._affinity(peer) / (1 if self.per_pod else peer.replicas)
            for target, pods in zip(peer.rows.tolist(), peer.counts.tolist(), strict=True):
                away, affinity = float(network.toward(target)[row]), value * pods
                near, how = (
                    (1 / away, f"1/{away:.3g} ms") if away > 0 else (gamma, f"gamma {gamma:.3g} on the same node")
                )
                name = peer.name.removeprefix(f"{cycle.pod.namespace}/")
                yield affinity * near, f"{name} (affinity {affinity:.4g} x {how})"
