"""An event loop whose clock jumps to the next timer as soon as nothing is left to do.

Programs that talk to each other over loopback within one process can so live through hours in seconds, and a busy machine
changes nothing about what they see. ``time.monotonic`` tells the loop's time while it runs.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine
from typing import Any, TypeVar
from unittest import mock

T = TypeVar("T")

SETTLE_SECONDS = 0.0005
"""Real time in which the kernel hands over what was just sent; only silence longer than this makes the clock jump."""


class _Selector(selectors.DefaultSelector):
    now = 1_000.0

    def clock(self) -> float:
        return self.now

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        ready = super().select(SETTLE_SECONDS if timeout is not None else 1.0)
        if not ready and timeout is not None:
            self.now += max(0.0, timeout)
        return ready


def run(main: Coroutine[Any, Any, T]) -> T:
    selector = _Selector()
    with (
        mock.patch.object(time, "monotonic", selector.clock),
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner,
    ):
        return runner.run(main)
