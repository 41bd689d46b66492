"""How every long-running program starts and, above all, how it ends.

The first SIGTERM or SIGINT asks the program to stop: it finishes what it has begun and hands its lease over. It has five
seconds for that. What has not ended shortly before is written to the log and the process ends all the same, because a
kubelet would kill it anyway, without a word about what was stuck. A second signal ends the process at once.

The clock that enforces this is a thread: an event loop that is stuck cannot measure how long it has been.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType
from typing import Protocol

from ecotone.services.running import run

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS = 5.0
"""What is promised: a process is gone this long after its first signal."""
FORCED_AFTER = SHUTDOWN_SECONDS - 0.5
OVERDUE_EXIT_CODE = 4
SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Program(Protocol):
    def stop(self) -> None:
        """Asks ``run`` to return soon; called in the event loop."""

    async def run(self) -> None: ...


class Ending:
    """From the first signal to the end of the process."""

    def __init__(
        self,
        stop: Callable[[], None],
        *,
        loop: asyncio.AbstractEventLoop,
        seconds: float = FORCED_AFTER,
        end: Callable[[int], object] = os._exit,
    ) -> None:
        self._stop = stop
        self._loop = loop
        self._seconds = seconds
        self._end = end

    def install(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._signalled)

    def _signalled(self, number: int, _: FrameType | None) -> None:
        # The kernel's own answer to a second signal works even if nothing here does any more.
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        log.info("%s: stopping", signal.Signals(number).name)
        timer = threading.Timer(self._seconds, self._overdue)
        timer.daemon = True
        timer.start()
        self._loop.call_soon_threadsafe(self._stop)

    def _overdue(self) -> None:
        log.error(
            "not ended %g s after the signal; the process ends now. Unfinished: %s",
            self._seconds,
            "; ".join(unfinished(self._loop)) or "nothing that is known",
        )
        for handler in logging.getLogger().handlers:
            handler.flush()
        self._end(OVERDUE_EXIT_CODE)


def unfinished(loop: asyncio.AbstractEventLoop) -> list[str]:
    """What each task of the loop is and where it waits, for the log."""
    found = []
    for task in asyncio.all_tasks(loop):
        frames = task.get_stack(limit=1)
        where = f" at {frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else ""
        found.append(f"{getattr(task.get_coro(), '__qualname__', task.get_name())}{where}")
    return sorted(found)


def serve(make: Callable[[], Program]) -> None:
    """Runs a program until SIGTERM or SIGINT; ``make`` is called inside the event loop."""

    async def main() -> None:
        program = make()
        Ending(program.stop, loop=asyncio.get_running_loop()).install()
        started = time.monotonic()
        await program.run()
        log.info("stopped after %.0f s", time.monotonic() - started)

    run(main())
