"""A plugin in use, as profiles list them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Use:
    """One enabled plugin; `weight` counts only where it scores."""

    name: str
    weight: float = 1.0
