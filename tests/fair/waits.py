"""Named waits: what a test waits for, how long at most, and an exception of its own for a deadline that was missed.

A missed deadline may be the machine's fault, so it is the one thing that a test of real programs may be asked about again
(`fair.plugin`). Whatever else fails is final.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

MOST_PATIENCE = 6.0
SELDOM_SECONDS = 0.1
RECORD = "ECOTONE_WAITS"
"""Names a file; every wait that ended well is added to it: what for, seconds, deadline, load (`python -m fair.margins`)."""


class WaitMissed(TimeoutError):
    """What was waited for did not come before the deadline."""


def load() -> float:
    """Programs in line for each core, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)


def patience() -> float:
    """How many times as long things take where others are at work, too."""
    return min(MOST_PATIENCE, max(1.0, load()))


def wait_until(
    condition: Callable[[], bool],
    *,
    timeout: float,
    what: str,
    still: Callable[[], None] = lambda: None,
    told: Callable[[], str] = lambda: "",
    promise: str = "",
    every: float = 0.02,
) -> None:
    """``timeout``: seconds on a machine that has nothing else to do. What takes long is asked for less and less often.

    ``still`` raises if waiting has become pointless; ``told`` says what may explain a missed deadline. Where what never comes
    is a broken ``promise`` (a pod is lost, something is left behind), the missed deadline is a failure like any other.
    """
    started, pause = time.monotonic(), every
    while not condition():
        still()
        if (waited := time.monotonic() - started) > timeout and waited > timeout * patience():
            said = f"no {what} within {waited:.0f} s{told()}"
            if promise:
                raise AssertionError(f"{promise}: {said}")
            raise WaitMissed(said)
        time.sleep(pause)
        pause = max(every, min(SELDOM_SECONDS, 1.2 * pause))
    record(what, time.monotonic() - started, timeout)


def record(what: str, seconds: float, timeout: float) -> None:
    file = os.environ.get(RECORD)
    if file:
        test = os.environ.get("PYTEST_CURRENT_TEST", "")
        line = json.dumps({"test": test, "what": what, "seconds": seconds, "timeout": timeout, "load": load()})
        with Path(file).open("a", encoding="utf-8") as stream:
            stream.write(line + "\n")
