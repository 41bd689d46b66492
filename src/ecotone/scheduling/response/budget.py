"""How much a search may look at: counted, not timed, so that it ends at the same place on every machine.

The unit is an evaluation: one workload judged on one node of one placement. A whole placement of 100 workloads on 100 nodes
takes 10,000, one that differs from a known one in a single workload some hundreds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# About ten seconds of one core for an application of a hundred workloads on a hundred nodes.
EVALUATIONS = 400_000_000


class Budget:
    """Spent by whoever looks; what is begun when it runs out is finished."""

    def __init__(self, evaluations: int = EVALUATIONS) -> None:
        self._left = float(evaluations)
        self._shares: list[float] = []
        self.cut = False

    def spend(self, evaluations: float) -> None:
        self._left -= evaluations

    @property
    def over(self) -> bool:
        """True if there is nothing left of the current share; whoever asks stops then, which is remembered."""
        reached = self._left <= (self._shares[-1] if self._shares else 0.0)
        self.cut |= reached
        return reached

    @contextmanager
    def share(self, part: float) -> Iterator[None]:
        """Within it no more than this part of what is left may be spent."""
        low = self._shares[-1] if self._shares else 0.0
        self._shares.append(low + (1.0 - part) * max(0.0, self._left - low))
        try:
            yield
        finally:
            self._shares.pop()
