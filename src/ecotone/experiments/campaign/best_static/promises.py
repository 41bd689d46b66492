"""The shares of the edge that a scenario promises its services, as placements keep or break them.

Promises come before milliseconds, for a policy as for the bound: a placement that breaks more of them than it has to is not
one that anybody may choose, however fast it is. Measured as in `scheduling.costs.targets`: by how many milliseconds the mean
latency of a service's tiers exceeds what was promised, summed over the services.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.scheduling.costs.targets import TIERS_MS, WEIGHT
from ecotone.sim.scenario import Scenario

_ALIKE_MS = 0.5


class Promises:
    """[w]: `promised` latency of each service, infinite where nothing is; [n]: `latency` of each node's tier."""

    def __init__(self, scenario: Scenario) -> None:
        qos = scenario.qos
        declared = {} if qos is None else {tier: 1000.0 * each for tier, each in qos.latency.items()}
        shares = {} if qos is None else qos.targets
        tiers = declared or TIERS_MS
        far, near = max(tiers.values()), min(tiers.values())
        edge = tiers.get("edge", near)
        services = [each.name for each in scenario.application.services]
        self._latency = np.array([tiers.get(node.tier or "", far) for node in scenario.nodes])
        self._promised = np.array(
            [far - shares[name] * (far - edge) if name in shares else np.inf for name in services]
        )
        self.any = bool(shares)

    def price(self) -> Floats:
        """[w, n]: what a service costs there so that promises weigh more than any response time."""
        over = np.maximum(0.0, self._latency - self._promised[:, np.newaxis])
        found: Floats = WEIGHT * len(self._promised) * over
        return found

    def kept(self, tables: Sequence[Ints]) -> list[Ints]:
        """Those that break promises as little as any of them."""
        if not self.any or not tables:
            return list(tables)
        counts = np.stack(tables).astype(np.float64)
        mean = counts @ self._latency / np.maximum(counts.sum(axis=2), 1.0)
        broken = np.maximum(0.0, mean - self._promised).sum(axis=1)
        least = broken.min() + _ALIKE_MS
        return [table for table, lost in zip(tables, broken.tolist(), strict=True) if lost <= least]
