"""Whether a program still turns: the parts that must, and how long ago each last did.

A process can be alive and useless: a loop that waits for something that never comes answers ``/healthz`` as long as
the event loop runs. So every part that must keep turning has a *pulse* with a limit; it beats on every turn, rests while
it has nothing to do by design, and a part whose last beat is older than its limit makes the program unhealthy. A kubelet
then restarts it, which is what the part itself can no longer do.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Pulse:
    """One part's sign of life; made by ``Health.expect``."""

    def __init__(self, part: str, *, within: float, clock: Callable[[], float]) -> None:
        self._part = part
        self._within = within
        self._clock = clock
        self._last: float | None = None

    def beat(self) -> None:
        self._last = self._clock()

    def rest(self) -> None:
        """Nothing is expected of this part until it beats again."""
        self._last = None

    def complaint(self) -> str | None:
        if self._last is None:
            return None
        silent = self._clock() - self._last
        if silent <= self._within:
            return None
        return f"{self._part}: no sign of life for {silent:.1f} s (at most {self._within:g} s)"


class Health:
    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pulses: list[Pulse] = []

    def expect(self, part: str, *, within: float) -> Pulse:
        """A pulse for this part; it rests until its first beat."""
        pulse = Pulse(part, within=within, clock=self._clock)
        self._pulses.append(pulse)
        return pulse

    def complaint(self) -> str | None:
        """None if every part turns, else what does not."""
        found = [complaint for pulse in self._pulses if (complaint := pulse.complaint()) is not None]
        return "; ".join(found) or None
