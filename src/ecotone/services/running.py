"""The event loop every service runs on (uvloop where it exists), and the few shapes of concurrent work they share."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

log = logging.getLogger(__name__)

TURN_SECONDS = 0.0005

S = TypeVar("S")
T = TypeVar("T")


def run(main: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:  # there is none for Windows
        asyncio.run(main)
        return
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)


@asynccontextmanager
async def background(*works: Awaitable[Any]) -> AsyncIterator[None]:
    """Background work that ends with the block; its failure ends the block."""
    tasks = [asyncio.ensure_future(work) for work in works]
    current = asyncio.current_task()

    def failed(task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and task.exception() is not None and current is not None:
            log.error("background work failed", exc_info=task.exception())
            current.cancel()

    for task in tasks:
        task.add_done_callback(failed)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def first(*works: Awaitable[Any]) -> None:
    """Until the first is done; those started here are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task, work in zip(tasks, works, strict=True):
            if task is not work:
                if task.done() and not task.cancelled():
                    task.result()
                task.cancel()


async def wait_at_most(event: asyncio.Event, seconds: float) -> bool:
    """True if the event came in time.

    Not ``asyncio.wait_for``: before Python 3.12 it swallows a cancellation that arrives in the turn in which the event is
    set, and a loop that waits with it cannot be ended.
    """
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def beside_the_loop(work: Callable[[], T]) -> T:
    """Runs pure work that may take seconds in a thread, so that leases are renewed and probes answered meanwhile.

    The thread is a daemon: if the waiter is cancelled, or the process ends, nobody waits for it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def succeed(result: T) -> None:
        if not answer.done():
            answer.set_result(result)

    def fail(error: BaseException) -> None:
        if not answer.done():
            answer.set_exception(error)

    def tell(settle: Callable[[S], None], outcome: S) -> None:
        with suppress(RuntimeError):  # the loop has closed, so no coroutine waits for the answer any more
            loop.call_soon_threadsafe(settle, outcome)

    def run_it() -> None:
        try:
            result = work()
        except BaseException as error:
            tell(fail, error)
        else:
            tell(succeed, result)

    threading.Thread(target=run_it, daemon=True, name="decision").start()
    return await answer


@contextmanager
def quick_turns() -> Iterator[None]:
    """While a thread keeps the interpreter busy, the loop gets its turn ten times as soon.

    Every piece of an answer waits for a turn, and a long list comes in dozens of pieces.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def put_off_collection() -> None:
    """While a program is loaded and its cache filled, almost nothing becomes garbage: searching for it is wasted."""
    gc.set_threshold(1_000_000, 50, 1_000)


def spare_the_cache_from_collection(*, collect: bool = True) -> None:
    """The cache is large, long-lived and without cycles: walking it again and again finds nothing and costs latency.

    Without ``collect`` what garbage there is by now stays, too; that of a start is small.
    """
    if collect:
        gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 50, 1_000)


def collect_while_idle() -> None:
    """Collects the youngest generation while the program is idle, so that it seldom happens while pods wait."""
    gc.collect(0)
