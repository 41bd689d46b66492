"""NetworkAware: how far a node is from those the pod talks to (Sophos thesis, section 4.5, algorithm 1; DAG paper, 3.3).

    na(n) = - sum over nodes m, over pods q on m, of l(n, m) (saff(p, q) + daff(p, q))

saff is the static affinity of the channel, daff its measured traffic in bytes/s (the thesis says "proportional":
`trafficScale` changes the unit), both as the pod's own workload lists them; input proxies (`users@NODE`) and output proxies
are peers like any other. delta, the weight against ResourceAware, is the plugin's weight in the profile. The DAG paper knows
traffic alone (`static: false`) and no proxies (`proxies: false`); `dynamic: false` leaves traffic out instead.

`combine: raw` with `perPod: true` is the algorithm to the letter, and what `sophos` uses: every placed pod of a peer counts
with the full value of the pair of workloads. Without them, as in `sophos-normalized`, a peer with R placed pods spreads its
value over them, and the term is brought to 0..100 over the feasible nodes before delta applies. Min-max stretches a
difference of 0.1 ms as far as one of 100 ms.

Ours, where the thesis says nothing: an unknown latency takes the other direction's, the NetworkMap's, the coordinates' or
the largest known one (the released code takes 0 and so prefers nodes nobody measured); where no latency is known at all the
term counts 0.
"""

from __future__ import annotations

from math import inf

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.errors import InputError
from ecotone.scheduling.costs.peers import by_node, own_peers, talks_to_itself
from ecotone.scheduling.normalize import min_max
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick
from ecotone.scheduling.plugins.published.resource_aware import stretches


class NetworkAware:
    name = "NetworkAware"

    def __init__(
        self,
        *,
        static: bool = True,
        dynamic: bool = True,
        proxies: bool = True,
        perPod: bool = False,
        trafficScale: float = 1.0,
        combine: str = "normalized",
    ) -> None:
        if not 0 < trafficScale < inf:
            raise InputError(f"NetworkAware: trafficScale {trafficScale:g} must be a number above 0")
        self.static = static
        self.proxies = proxies
        self.traffic_scale = trafficScale
        self.dynamic = dynamic
        self.per_pod = perPod
        self.stretch = stretches(self.name, combine)

    def placement_changes(self, cycle: Cycle) -> Change:
        return "everything" if talks_to_itself(cycle.state, cycle.pod.kind) else "nothing"

    def targets(self, cycle: Cycle) -> tuple[Rows, Floats]:
        state = cycle.state
        peers = own_peers(state, cycle.pod.kind, static=self.static, dynamic=self.dynamic, proxies=self.proxies)
        values = [peer.affinity + self.traffic_scale * peer.traffic for peer in peers]
        return by_node(peers, values, size=len(state.nodes), per_pod=self.per_pod)

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        network = cycle.state.network
        targets, weights = cycle.scratch[self.name] = self.targets(cycle)
        if len(targets) and not network.anything_known:
            return np.full(len(rows), np.nan)
        cost: Floats = pick(network.weighted(targets, weights), rows, cycle)
        return 0.0 - cost

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:
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
