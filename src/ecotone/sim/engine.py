"""The orchestrator that ships: the engine's own `decide` and `deschedule`, called with simulated snapshots.

Nothing is adapted: what runs here is what runs on a live cluster.
"""

from __future__ import annotations

from ecotone.descheduling import Settings, deschedule, settings_for
from ecotone.model import Decisions, Snapshot
from ecotone.scheduling import Policy, decide, resolve


class Engine:
    """A policy by name or profile, with the descheduler that goes with it, another one, or none."""

    def __init__(
        self, policy: Policy, *, name: str | None = None, settings: Settings | None = None, moves: bool = True
    ) -> None:
        self.profile = resolve(policy)
        self.name = name or self.profile.name
        self._settings = (settings or settings_for(self.profile)) if moves else None
        self._moves = moves and (self._settings is not None or self.profile.solver is not None)

    @property
    def reserves_for(self) -> float:
        """Seconds for which a move keeps the target's capacity; the thesis' descheduler keeps nothing."""
        return 0.0 if self._settings is None or self._settings.thesis else self._settings.reserve_for

    def schedule(self, snapshot: Snapshot) -> Decisions:
        return decide(snapshot, self.profile)

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        if not self._moves:
            return Decisions(())
        return deschedule(snapshot, self.profile, self._settings)
