"""The event loop every service runs on: uvloop where it exists."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine
from typing import Any


def run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        asyncio.run(main)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


def spare_the_cache_from_collection() -> None:
    """The cache is large, long-lived and without cycles: walking it again and again finds nothing and costs latency."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 1_000)


def collect_while_idle() -> None:
    """What is young is looked through when nobody waits, so that it seldom has to be while somebody does."""
    gc.collect(0)
