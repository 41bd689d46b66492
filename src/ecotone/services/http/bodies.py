"""Reading what a client sends: one kind of content, bounded in size, in time, and in all.

A body is refused before it is read wherever possible: by its type, its declared length, or because the bytes that are
being read for everybody together have reached their limit. An undeclared length counts as the longest allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from ecotone.services.http.server import attended

JSON = "application/json"
BODY_SECONDS = 5.0
LIMIT = 4 << 20
BUDGET = 32 << 20


class Bodies:
    """``limit`` bytes for one body, ``budget`` for all that are held at a time."""

    def __init__(self, *, limit: int = LIMIT, budget: int = BUDGET, seconds: float = BODY_SECONDS) -> None:
        self.limit = limit
        self.budget = budget
        self.held = 0
        self._seconds = seconds

    @asynccontextmanager
    async def json(self, request: web.Request) -> AsyncIterator[bytes]:
        """The body of a JSON request, counted against the budget while the block runs.

        Raises the HTTP error that fits: 400, 408, 413, 415 or 503.
        """
        if request.content_type != JSON:
            raise web.HTTPUnsupportedMediaType(text=f"Content-Type must be {JSON}")
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise web.HTTPUnsupportedMediaType(text="bodies are taken as they are: no Content-Encoding")
        declared = request.content_length
        if declared is not None and declared > self.limit:
            raise web.HTTPRequestEntityTooLarge(max_size=self.limit, actual_size=declared)
        share = self.limit if declared is None else declared
        if self.held + share > self.budget:
            raise web.HTTPServiceUnavailable(text="too many requests are being read", headers={"Retry-After": "1"})
        self.held += share
        try:
            content = await self._read(request)
            attended(request, busy=True)
            yield content
        finally:
            self.held -= share

    async def _read(self, request: web.Request) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                async for part in request.content.iter_any():
                    size += len(part)
                    if size > self.limit:
                        raise web.HTTPRequestEntityTooLarge(max_size=self.limit, actual_size=size)
                    parts.append(part)
        except TimeoutError:
            raise web.HTTPRequestTimeout(text=f"the body did not arrive within {self._seconds:g} s") from None
        except ConnectionError:
            raise web.HTTPBadRequest(text="the connection was closed before the body had arrived") from None
        return b"".join(parts)
