"""How fast moves may follow each other: one in so many seconds, and a few at once after a pause.

Every `seconds` one more move is allowed, and up to `burst` of them are kept for later. So in any stretch of time no more
moves begin than one in `seconds` and the burst. What is allowed is kept in the policy's memory. Whoever remembers nothing, a
program after its start for example, begins with the burst less the moves that the snapshot still knows of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ecotone.model.snapshot import Snapshot

MEMORY = "pace"
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Pace:
    """`kept`: how many moves were allowed at the time `at`, parts of one included."""

    kept: float
    at: float

    @property
    def allowed(self) -> int:
        return int(self.kept + _ROUNDING)

    def after(self, moves: int) -> Mapping[str, object]:
        """What to remember when so many have begun."""
        return {"kept": max(0.0, self.kept - moves), "at": self.at}


def pace_now(snapshot: Snapshot, *, seconds: float, burst: int) -> Pace:
    kept, since = _remembered(snapshot.memory.get(MEMORY))
    if kept is None:
        known = [at for at in snapshot.last_moves.values() if snapshot.now - at < burst * seconds]
        return Pace(float(max(0, burst - len(known))), snapshot.now)
    # A clock that went back allows nothing more.
    gained = max(0.0, snapshot.now - since) / seconds
    return Pace(min(float(burst), kept + gained), snapshot.now)


def _remembered(memory: object) -> tuple[float | None, float]:
    """What `after` wrote; anything else is nothing."""
    if not isinstance(memory, Mapping):
        return None, 0.0
    try:
        return max(0.0, float(memory["kept"])), float(memory["at"])
    except (KeyError, TypeError, ValueError):
        return None, 0.0
