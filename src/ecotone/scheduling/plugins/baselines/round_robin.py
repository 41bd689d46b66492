"""RoundRobin: the next node in turn that fits, in byte order of names.

What it remembers is the name of the node that was last used, not a number, so nodes may come and go in between.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.scheduling.plugin import Change, Cycle, pick


class RoundRobin:
    name = "RoundRobin"
    placement_changes: Change | None = "everything"

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        """Nodes still to wait until a node's turn, counted down: the next one ranks highest."""
        nodes = cycle.state.nodes
        size = len(nodes)
        last = cycle.state.memory.get(self.name)
        start = bisect_right(nodes.names_in_order, last.encode()) if isinstance(last, str) else 0
        away = (pick(nodes.rank, rows, cycle) - start) % size
        left: Floats = (size - away).astype(np.float64)
        return left

    def reserve(self, cycle: Cycle, row: int) -> str | None:
        memory = cycle.state.memory
        cycle.scratch.setdefault(self.name, []).append(memory.get(self.name))
        memory[self.name] = cycle.state.nodes.names[row]
        return None

    def unreserve(self, cycle: Cycle, row: int) -> None:
        """Places are given back in reverse; a turn that somebody has taken since is not taken back."""
        taken = cycle.scratch.get(self.name)
        if taken and cycle.state.memory.get(self.name) == cycle.state.nodes.names[row]:
            cycle.state.memory[self.name] = taken.pop()
