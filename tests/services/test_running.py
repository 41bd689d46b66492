"""Work beside the event loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from ecotone.services.running import beside_the_loop


def test_the_loop_turns_while_the_work_is_done() -> None:
    async def main() -> tuple[int, int]:
        gate = threading.Event()

        def work() -> int:
            gate.wait(10)
            return 7

        task = asyncio.create_task(beside_the_loop(work))
        turns = 0
        for _ in range(5):
            await asyncio.sleep(0)
            turns += 1
        gate.set()
        return await task, turns

    assert asyncio.run(main()) == (7, 5)


def test_its_failure_is_the_waiters() -> None:
    def work() -> int:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(beside_the_loop(work))


def test_a_waiter_that_goes_leaves_the_work_behind() -> None:
    async def main() -> bool:
        gate = threading.Event()
        task = asyncio.create_task(beside_the_loop(lambda: gate.wait(10)))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gate.set()
        await asyncio.sleep(0.05)
        return task.cancelled()

    assert asyncio.run(main())
