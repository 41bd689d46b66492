"""What moves would save, over a whole application."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """Milliseconds per user request: `here` as things are, `there` after the moves."""

    here: float
    there: float

    @property
    def gain(self) -> float:
        return self.here - self.there

    @property
    def relative_gain(self) -> float:
        return self.gain / self.here if self.here > 0 else 0.0
