"""Turns that are shared out by who asks: one after the other, whoever has many waiting.

A queue serves whoever fills it. Here each asker has a queue of its own, the next turn goes to the next asker, and nobody
holds more than his share of the places at a time, so that somebody who comes later finds one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turns:
    def __init__(self, places: int, *, each: int | None = None) -> None:
        """``each``: how many places one asker may hold."""
        self._free = places
        self._each = places if each is None else each
        self._held: dict[str, int] = {}
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """In the order of their next turn."""

    @asynccontextmanager
    async def turn(self, asker: str, *, patience: float | None = None) -> AsyncIterator[None]:
        """A place; TimeoutError if none came in time."""
        async with asyncio.timeout(patience):
            await self._take(asker)
        try:
            yield
        finally:
            self._give_back(asker)

    async def _take(self, asker: str) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(asker, deque()).append(mine)
        self._call()
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self._give_back(asker)
            else:
                self._leave(asker, mine)
            raise

    def _call(self) -> None:
        """Calls whoever is next, as long as there are places."""
        for asker in list(self._waiting):
            if self._free <= 0:
                return
            if self._held.get(asker, 0) >= self._each:
                continue
            queue = self._waiting.pop(asker)
            called = queue.popleft()
            if queue:
                self._waiting[asker] = queue  # behind everybody else
            if called.done():  # given up, and about to leave
                continue
            called.set_result(None)
            self._held[asker] = self._held.get(asker, 0) + 1
            self._free -= 1

    def _give_back(self, asker: str) -> None:
        self._free += 1
        self._held[asker] -= 1
        if not self._held[asker]:
            del self._held[asker]
        self._call()

    def _leave(self, asker: str, mine: asyncio.Future[None]) -> None:
        queue = self._waiting.get(asker)
        if queue is not None and mine in queue:
            queue.remove(mine)
            if not queue:
                del self._waiting[asker]
