"""ResponseTime: the predicted time a request spends because of where this pod is; the whole score of policy `ecotone`.

`raw` is the shared cost in milliseconds with the sign turned (higher is better). Its normalisation is scale-free and does not
stretch: 100 s / (s + cost - best), where s is the best node's cost plus 10 ms, a difference nobody notices. A node 0.1 ms
behind the best of a 40 ms chain keeps 99.8, one 100 ms behind falls to 33; min-max would call both 0.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.scheduling import cost
from ecotone.scheduling.channels import channels
from ecotone.scheduling.plugin import Change, Cycle, Scores, pick

UNNOTICED_MS = 10.0


class ResponseTime:
    name = "ResponseTime"
    cost_unit = "ms"

    def __init__(
        self,
        *,
        serviceMs: float = cost.DEFAULT.service_ms,  # noqa: N803 - spelt as in the profile
        priceMs: float = cost.DEFAULT.price_ms,  # noqa: N803
    ) -> None:
        self.model = cost.Model(service_ms=serviceMs, price_ms=priceMs)

    def placement_changes(self, cycle: Cycle) -> Change:
        own = (cycle.pod.kind.workload.namespace, cycle.pod.kind.workload.name)
        return "everything" if any(each.peer == own for each in channels(cycle.state, own)) else "row"

    def prescore(self, cycle: Cycle) -> None:
        """The network's part holds for every replica, unless they talk among themselves."""
        if self.name not in cycle.scratch or self.placement_changes(cycle) == "everything":
            cycle.scratch[self.name] = cost.network_ms(cycle.state, cycle.pod.kind)

    def cost(self, cycle: Cycle, rows: Rows) -> Floats:
        state, kind = cycle.state, cycle.pod.kind
        found: Floats = pick(self._network(cycle), rows, cycle)
        found = found + cost.cpu_ms(state, kind, rows, model=self.model)
        return found + cost.price_ms(state, kind, rows, model=self.model)

    def _network(self, cycle: Cycle) -> Floats:
        kept: Floats | None = cycle.scratch.get(self.name)
        return cost.network_ms(cycle.state, cycle.pod.kind) if kept is None else kept

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        return 0.0 - self.cost(cycle, rows)

    def normalize(self, cycle: Cycle, raw: Scores) -> Scores:  # noqa: ARG002 - the protocol's shape
        values = np.asarray(raw, dtype=np.float64)
        best = float(values.max(initial=-np.inf))
        if not np.isfinite(best):
            values = np.nan_to_num(values, nan=-np.inf, posinf=0.0, neginf=-np.inf)
            best = float(values.max(initial=-np.inf))
        if best == -np.inf:
            return np.zeros(len(values))  # beyond reach from everywhere: nothing to choose by
        scale = UNNOTICED_MS - best
        behind: Floats = best - values
        return 100 * scale / (scale + behind)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        network = float(self._network(cycle)[row])
        parts = (_ms(-raw), _ms(network), _ms(-raw - network))
        return "{} ms per request: {} ms network, {} ms CPU queueing and price".format(*parts)


def _ms(value: float) -> str:
    """Hundredths of a millisecond are nothing to tell."""
    return f"{value:.3g}" if value >= 0.01 else "0"
