"""Three small HTTP services on loopback that call each other through their sidecars, and count what their sockets see."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import aiohttp

BODY = b"x" * 4000


@dataclass
class Seen:
    """What came to one service."""

    requests: int = 0
    bytes: int = 0


class Service:
    """Answers every request with a few kilobytes, after calling the services behind it."""

    def __init__(self, calls: Callable[[aiohttp.ClientSession], Awaitable[None]] | None = None) -> None:
        self._calls = calls
        self._session: aiohttp.ClientSession | None = None
        self._server: asyncio.Server | None = None
        self.seen = Seen()
        self.port = 0

    async def start(self) -> None:
        self._session = aiohttp.ClientSession()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None and self._session is not None:
            self._server.close()
            await self._session.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.split(b"\r\n")
                        if line.lower().startswith(b"content-length")
                    ),
                    0,
                )
                body = await reader.readexactly(length)
                if self._calls is not None and self._session is not None:
                    await self._calls(self._session)
                answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
                writer.write(answer)
                await writer.drain()
                self.seen.requests += 1
                self.seen.bytes += len(head) + len(body) + len(answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Background:
    """An event loop in a thread, so that a test can wait for other processes meanwhile."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Awaitable[None], *, timeout: float = 120) -> None:
        async def wrapped() -> None:
            await work

        asyncio.run_coroutine_threadsafe(wrapped(), self.loop).result(timeout)

    def start(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Cancel what is returned to end the work."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()
