"""Turns: who has many waiting does not keep others from theirs."""

from __future__ import annotations

import asyncio

import pytest

import virtual_time
from ecotone.telemetry.turns import Turns


def test_askers_alternate_however_many_of_one_wait() -> None:
    async def main() -> list[str]:
        turns, order = Turns(1), []

        async def one(asker: str) -> None:
            async with turns.turn(asker):
                order.append(asker)
                await asyncio.sleep(1.0)

        await asyncio.gather(*(one("evil") for _ in range(50)), *(one("shop") for _ in range(3)))
        return order

    assert virtual_time.run(main())[:7] == ["evil", "evil", "shop", "evil", "shop", "evil", "shop"]


def test_nobody_holds_more_than_his_share_and_all_places_are_used() -> None:
    async def main() -> tuple[int, int]:
        turns = Turns(4, each=2)
        busy = {"evil": 0, "shop": 0}
        most = {"evil": 0, "shop": 0}

        async def one(asker: str) -> None:
            async with turns.turn(asker):
                busy[asker] += 1
                most[asker] = max(most[asker], busy[asker])
                await asyncio.sleep(1.0)
                busy[asker] -= 1

        await asyncio.gather(*(one("evil") for _ in range(20)), *(one("shop") for _ in range(20)))
        return most["evil"], most["shop"]

    assert virtual_time.run(main()) == (2, 2)


def test_whoever_gives_up_or_is_cancelled_leaves_no_place_taken() -> None:
    async def main() -> None:
        turns = Turns(1)
        async with turns.turn("a"):
            with pytest.raises(TimeoutError):
                async with turns.turn("b", patience=1.0):
                    raise AssertionError("two at a time")
            cancelled = asyncio.create_task(turns.turn("c").__aenter__())
            await asyncio.sleep(0)
            cancelled.cancel()
            await asyncio.gather(cancelled, return_exceptions=True)
        async with turns.turn("d", patience=1.0):
            pass
        assert not turns._waiting and not turns._held

    virtual_time.run(main())
