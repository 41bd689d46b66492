"""The orchestrator that ships: the engine's own `decide` and descheduler, called with simulated snapshots.

Nothing is adapted: what runs here is what runs on a live cluster.
"""

from __future__ import annotations

from ecotone.descheduling import Descheduler, descheduler_of
from ecotone.model import Decisions, Snapshot
from ecotone.scheduling import Policy, decide, resolve


class Engine:
    """A policy by name or profile. `schedules` and `deschedules` can be switched off, for ablations."""

    def __init__(self, policy: Policy, *, name: str | None = None, descheduler: Descheduler | None | str = "policy") -> None:
        self.profile = resolve(policy)
        self.name = name or self.profile.name
        self._descheduler = descheduler_of(self.profile) if isinstance(descheduler, str) else descheduler

    @property
    def reserves(self) -> bool:
        """Whether a move keeps the target's capacity for the replacement."""
        return self._descheduler is not None and self._descheduler.reserves

    def schedule(self, snapshot: Snapshot) -> Decisions:
        return decide(snapshot, self.profile)

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        if self._descheduler is None:
            return Decisions((), snapshot.memory)
        return self._descheduler.run(snapshot)
