"""NetworkAware: how far a node is from those the pod talks to (Sophos thesis, section 4.5, algorithm 1; DAG paper, 3.3).

    na(n) = - sum over nodes m, over pods q on m, of l(n, m) (saff(p, q) + daff(p, q))

saff is the static affinity of the channel, daff its measured traffic, both as the pod's own workload lists them; input
proxies (`users@NODE`) and output proxies are peers like any other. delta, the weight against ResourceAware, is the plugin's
weight in the profile. `static: false` gives the DAG paper's form, which knows traffic alone.

Deviations from the text: affinities are known per pair of workloads, so a peer with R placed pods spreads its value over
them instead of weighing R times (`perPod: true` restores the literal sum). The term is brought to 0..100 over the feasible
nodes before delta applies (`combine: raw` does not). An unknown latency takes the other direction's, the NetworkMap's, the
coordinates' or the largest known one, where the released code takes 0 and so prefers nodes nobody measured.

Part of the published policy, and kept: min-max stretches a difference of 0.1 ms as far as one of 100 ms.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.peers import by_node, own_peers, talks_to_itself
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick
from ecotone.scheduling.plugins.resource_aware import stretches


class NetworkAware:
    name = "NetworkAware"

    def __init__(
        self,
        *,
        static: bool = True,
        dynamic: bool = True,
        perPod: bool = False,  # noqa: N803 - spelt as in the profile
        combine: str = "normalized",
    ) -> None:
        self.static = static
        self.dynamic = dynamic
        self.per_pod = perPod
        self.stretch = stretches(self.name, combine)

    def placement_changes(self, cycle: Cycle) -> Change:
        return "everything" if talks_to_itself(cycle.state, cycle.pod.kind) else "nothing"

    def targets(self, cycle: Cycle) -> tuple[Rows, Floats]:
        state = cycle.state
        peers = own_peers(state, cycle.pod.kind, static=self.static, dynamic=self.dynamic)
        values = [peer.affinity + peer.traffic for peer in peers]
        return by_node(peers, values, size=len(state.nodes), per_pod=self.per_pod)

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        network = cycle.state.network
        targets, weights = cycle.scratch[self.name] = self.targets(cycle)
        if len(targets) and not network.anything_known:
            return np.full(len(rows), np.nan)
        cost: Floats = pick(network.weighted(targets, weights), rows, cycle)
        return 0.0 - cost

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:  # noqa: ARG002 - the protocol's shape
        return min_max(raw) if self.stretch else np.where(np.isnan(raw), 0.0, raw)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        targets, weights = cycle.scratch.get(self.name) or self.targets(cycle)
        if not len(targets):
            return "no peers placed yet"
        if np.isnan(raw):
            return "no latency known"
        text = f"{-raw / weights.sum():.3g} ms on average to peers on {len(targets)} nodes"
        guessed = cycle.state.network.unknown_share(targets)[row]
        return f"{text}, {guessed:.0%} of them not measured" if guessed else text
