"""Connections to one server, kept alive and shared.

A few are opened side by side and requests wait for whichever is free first, since a handshake costs as much as several
requests (docs/design/004-own-http-client.md). Beyond ``FEW`` a further one is opened only for a request that has waited a
while, which is a sign that the server is far away rather than busy.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque

from ecotone.kube.http.connection import HttpConnection
from ecotone.kube.http.tls import ServerContext

CONNECT_SECONDS = 10.0
KEEP_SECONDS = 60.0
OPENED_AT_ONCE = 4
FEW = 64
PATIENCE_SECONDS = 0.3

Waiter = asyncio.Future[HttpConnection]


class Pool:
    def __init__(self, host: str, port: int, *, tls: ssl.SSLContext | None, server_hostname: str | None, limit: int):
        self._host = host
        self._port = port
        self._tls = tls
        self._server_hostname = (server_hostname or host) if tls is not None else None
        self._limit = limit
        self._loop = asyncio.get_running_loop()
        self._idle: list[HttpConnection] = []
        self._in_use: set[HttpConnection] = set()
        self._waiting: deque[tuple[float, Waiter]] = deque()
        self._opening: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def take(self) -> HttpConnection:
        """A connection of the caller's own, until it gives it back."""
        connection = self._free_one()
        if connection is not None:
            self._in_use.add(connection)
            return connection
        waiter: Waiter = self._loop.create_future()
        self._waiting.append((self._loop.time(), waiter))
        self._grow()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.give_back(waiter.result())
            raise

    def give_back(self, connection: HttpConnection) -> None:
        self._in_use.discard(connection)
        if not connection.usable or self._closed:
            connection.close()
            self._grow()
            return
        connection.idle_since = self._loop.time()
        if connection.new:
            connection.new = False
            if isinstance(self._tls, ServerContext) and (made := connection.tls) is not None:
                self._tls.remember(made)
        self._hand_out(connection)

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        opening = list(self._opening)
        for task in opening:
            task.cancel()
        await asyncio.gather(*opening, return_exceptions=True)
        for connection in (*self._idle, *self._in_use):
            connection.close()
        self._idle.clear()
        while self._waiting:
            _, waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(ConnectionAbortedError("the client was closed"))
        await asyncio.sleep(0)  # lets the transports say that they are gone

    def _free_one(self) -> HttpConnection | None:
        """The one used last; those that were idle for long are let go, before the server does."""
        long_ago = self._loop.time() - KEEP_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since >= long_ago:
                return connection
            connection.close()
        return None

    def _hand_out(self, connection: HttpConnection) -> None:
        while self._waiting:
            _, waiter = self._waiting.popleft()
            if not waiter.done():
                self._in_use.add(connection)
                waiter.set_result(connection)
                return
        self._idle.append(connection)

    def _grow(self) -> None:
        """Opens what is missing, and looks again later if a request should first wait for one in use."""
        while self._waiting and self._waiting[0][1].done():
            self._waiting.popleft()
        while not self._closed and len(self._opening) < min(OPENED_AT_ONCE, len(self._waiting)):
            count = len(self._opening) + len(self._in_use) + len(self._idle)
            if count >= self._limit:
                return
            if count >= FEW:
                due = self._waiting[0][0] + PATIENCE_SECONDS
                if due > self._loop.time():
                    if self._timer is None:
                        self._timer = self._loop.call_at(due, self._look_again)
                    return
            task = self._loop.create_task(self._open())
            self._opening.add(task)
            task.add_done_callback(self._opened)

    def _look_again(self) -> None:
        self._timer = None
        self._grow()

    def _opened(self, task: asyncio.Task[None]) -> None:
        self._opening.discard(task)
        self._grow()

    async def _open(self) -> None:
        asked = self._loop.time()
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                _, connection = await self._loop.create_connection(
                    HttpConnection, self._host, self._port, ssl=self._tls, server_hostname=self._server_hostname
                )
        except TimeoutError:
            self._refuse(asked, ConnectionError(f"no connection within {CONNECT_SECONDS:g} s"))
        except (OSError, ssl.SSLError) as error:
            self._refuse(asked, error)
        else:
            if self._closed:
                connection.close()
            else:
                self._hand_out(connection)

    def _refuse(self, asked: float, error: Exception) -> None:
        """What has waited since before this attempt is told that it failed; for the rest another one is made."""
        while self._waiting and self._waiting[0][0] <= asked:
            _, waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(error)
