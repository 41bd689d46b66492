"""How long to wait before trying again: exponential, capped, and jittered so that clients do not march in step."""

from __future__ import annotations

import random
from collections.abc import Callable


class Backoff:
    """Delays of 0.5 to 1 times ``first * factor**n``, never above ``limit``; ``reset`` after a success."""

    def __init__(
        self,
        *,
        first: float = 0.2,
        limit: float = 30.0,
        factor: float = 2.0,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._first = first
        self._limit = limit
        self._factor = factor
        self._draw = draw
        self._attempt = 0

    def next(self, *, at_least: float | None = None) -> float:
        """The next delay; ``at_least`` carries a server's Retry-After."""
        # The exponent is bounded so that a long outage cannot overflow a float.
        ceiling = min(self._limit, self._first * self._factor ** min(self._attempt, 60))
        self._attempt += 1
        delay = ceiling * (0.5 + 0.5 * self._draw())
        return delay if at_least is None else max(delay, at_least)

    def reset(self) -> None:
        self._attempt = 0
