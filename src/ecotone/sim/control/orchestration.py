"""The seam between the simulated cluster and whoever runs it.

An `Orchestrator` sees snapshots and answers with decisions, nothing else. The one that ships calls the engine; tests put
their own in its place.
"""

from __future__ import annotations

from typing import Protocol

from ecotone.model import Decisions, Snapshot


class Orchestrator(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def reserves_for(self) -> float:
        """Seconds for which the capacity at a move's target is kept for the replacement; 0: not at all."""
        ...

    def schedule(self, snapshot: Snapshot) -> Decisions:
        """Binds (or waits, or preemptions) for the pending pods."""
        ...

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        """Evictions of running pods that would be better off elsewhere; none for policies that leave pods alone."""
        ...
