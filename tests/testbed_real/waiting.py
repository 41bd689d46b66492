"""Named waits of tests on a bed: the bed's own way of waiting, with more patience on a busy machine, and written down."""

from __future__ import annotations

import time
from collections.abc import Callable

from ecotone.testbed import processes
from fair.waits import patience, record


def wait_until(condition: Callable[[], bool], *, seconds: float, what: str, every: float = 0.1) -> None:
    """``seconds``: on a machine that has nothing else to do."""
    started = time.monotonic()
    processes.wait_until(condition, seconds=seconds * patience(), what=what, every=every)
    record(what, time.monotonic() - started, seconds)
