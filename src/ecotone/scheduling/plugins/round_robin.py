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

    def __init__(self) -> None:
        self._last: str | None = None
        self._before: str | None = None

    def recall(self, memory: object | None) -> None:
        self._last = memory if isinstance(memory, str) else None

    def remember(self) -> object:
        return self._last

    def score(self, cycle: Cycle, rows: Rows) -> Floats:
        """Nodes still to wait until a node's turn, counted down: the next one ranks highest."""
        nodes = cycle.state.nodes
        size = len(nodes)
        start = 0 if self._last is None else bisect_right(nodes.names_in_order, self._last.encode())
        away = (pick(nodes.rank, rows, cycle) - start) % size
        left: Floats = (size - away).astype(np.float64)
        return left

    def reserve(self, cycle: Cycle, row: int) -> str | None:
        self._before, self._last = self._last, cycle.state.nodes.names[row]
        return None

    def unreserve(self, cycle: Cycle, row: int) -> None:
        if self._last == cycle.state.nodes.names[row]:
            self._last = self._before
