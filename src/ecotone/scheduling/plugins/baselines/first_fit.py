"""FirstFit: the first node by name that passes the filters. Also the smallest complete plugin: copy it for your own."""

from __future__ import annotations

from ecotone.model.arrays import Floats, Rows
from ecotone.scheduling.plugin import Change, Cycle, pick


class FirstFit:
    name = "FirstFit"
    placement_changes: Change | None = "nothing"

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        """Names in byte order: the first ranks highest."""
        nodes = cycle.state.nodes
        ranks: Floats = pick(nodes.rank, rows, cycle).astype(float)
        return len(nodes) - ranks
