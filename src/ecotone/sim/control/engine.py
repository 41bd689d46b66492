"""The orchestrator that ships: the engine's own `decide` and `deschedule`, called with simulated snapshots.

Nothing is adapted: what runs here is what runs on a live cluster.
"""

from __future__ import annotations

from ecotone.descheduling import deschedule
from ecotone.model import Decisions, Snapshot
from ecotone.scheduling import DeschedulerSettings, Policy, decide, resolve


class Engine:
    """A policy by name or profile, with the descheduler that goes with it, another one, or none."""

    def __init__(
        self,
        policy: Policy,
        *,
        name: str | None = None,
        settings: DeschedulerSettings | None = None,
        moves: bool = True,
    ) -> None:
        self.profile = resolve(policy)
        self.name = name or self.profile.name
        self._settings = (settings or self.profile.descheduler) if moves else None

    @property
    def reserves_for(self) -> float:
        """Seconds for which a move keeps the target's capacity."""
        return 0.0 if self._settings is None else self._settings.reserve_for

    def schedule(self, snapshot: Snapshot) -> Decisions:
        return decide(snapshot, self.profile)

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        if self._settings is None:
            return Decisions(())
        return deschedule(snapshot, self.profile, self._settings)
