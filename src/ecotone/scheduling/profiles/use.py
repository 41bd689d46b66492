"""A plugin in use, as profiles list them."""

from __future__ import annotations

import msgspec


class Use(msgspec.Struct, frozen=True):
    """One enabled plugin; `weight` counts only where it scores."""

    name: str
    weight: float = 1.0
