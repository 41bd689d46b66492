"""The one way in which our programs listen on a port.

Whoever reaches the port can open connections, send half a header, half a body, or read no answer. None of that may cost
more than it costs the sender: the number of connections is capped, and when all are taken the one that has kept us
waiting longest makes room (a probe that sends its request at once is therefore always heard). Headers, bodies and answers
have deadlines. A request from a browser page that was pointed at us under a foreign name is turned away (``callers``).
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ecotone.model.errors import InputError
from ecotone.model.quantity import whole
from ecotone.services.http.callers import check_host
from ecotone.services.http.descriptors import ACCEPTED_AT_ONCE, QUEUED, raise_limit, served

log = logging.getLogger(__name__)

HEADER_SECONDS = 10.0
"""For a complete request header, from the opening of a connection or the end of the request before."""
HANDSHAKE_SECONDS = 5.0
LINGER_SECONDS = 1.0
STOP_SECONDS = 0.5
OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/metrics"})


def parse_listen(text: str) -> tuple[str, int]:
    """``ADDRESS:PORT``; an IPv6 address in brackets."""
    host, colon, port = text.rpartition(":")
    number = whole(port, most=65_535)
    if not colon or number is None:
        raise InputError(f"--listen {text}: ADDRESS:PORT is expected", hint="for example 127.0.0.1:10259")
    return host.strip("[]") or "0.0.0.0", number  # noqa: S104 - an empty address means every one, as asked


class Gate:
    """Who is connected, in the order in which they came, and at most how many."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.turned_away = 0
        self._inside: dict[Connection, None] = {}

    def __len__(self) -> int:
        return len(self._inside)

    def admit(self, newcomer: Connection) -> bool:
        if len(self._inside) >= self.limit:
            self.turned_away += 1
            slowest = next((one for one in self._inside if not one.busy), None)
            if slowest is None:
                return False
            self.leave(slowest)
            slowest.abort()
        self._inside[newcomer] = None
        return True

    def leave(self, one: Connection) -> None:
        self._inside.pop(one, None)


class Connection(web.RequestHandler):
    """A connection that knows whether we are at work for it (``busy``) or wait for its peer."""

    __slots__ = ("_gate", "busy")

    def __init__(self, manager: web.Server, gate: Gate, **options: Any) -> None:
        super().__init__(manager, loop=asyncio.get_running_loop(), **options)
        self._gate = gate
        self.busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self._gate.admit(self):
            super().connection_made(transport)
        elif isinstance(transport, asyncio.WriteTransport):
            transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._gate.leave(self)
        super().connection_lost(exc)

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """What is no HTTP gets its 400 and no traceback: whoever reaches the port could fill the log with them."""
        if not isinstance(kw.get("exc_info"), HttpProcessingError):
            super().log_exception(*args, **kw)

    def abort(self) -> None:
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()


def attended(request: web.Request, *, busy: bool) -> None:
    """We have all we need of this request and are at work for it, or no longer are."""
    if isinstance(request.protocol, Connection):
        request.protocol.busy = busy


@web.middleware
async def _attend(request: web.Request, handler: Any) -> web.StreamResponse:
    attended(request, busy=not request.body_exists)
    try:
        answer: web.StreamResponse = await handler(request)
        return answer
    finally:
        # From here on it is the peer's turn again: to read the answer, or to send the next request.
        attended(request, busy=False)


def _host_guard(allowed: Sequence[str]) -> Any:
    @web.middleware
    async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
        if request.path not in OPEN_PATHS:
            check_host(request, allowed=allowed)
        answer: web.StreamResponse = await handler(request)
        return answer

    return guard


def _queue(listening: int) -> None:
    """Lets the kernel keep more connections than the event loop accepts in one turn.

    Whoever finds that queue full is not refused but comes back after a second, and a probe that waits for one has failed.
    """
    with socket.socket(fileno=os.dup(listening)) as same:
        same.listen(QUEUED)


class HttpServer:
    """Serves an application; ``limit`` connections at a time, by default what the descriptors allow."""

    def __init__(
        self,
        app: web.Application,
        *,
        limit: int | None = None,
        allowed_hosts: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        stop_seconds: float = STOP_SECONDS,
        header_seconds: float = HEADER_SECONDS,
    ) -> None:
        app.middlewares.insert(0, _host_guard(allowed_hosts))
        app.middlewares.insert(0, _attend)
        self._app = app
        self._tls = tls
        self._stop_seconds = stop_seconds
        self._options = {
            "access_log": None,
            "keepalive_timeout": header_seconds,
            "lingering_time": LINGER_SECONDS,
            "max_line_size": 8190,
            "max_field_size": 16_380,
            "max_headers": 64,
        }
        self.gate = Gate(limit if limit is not None else served(raise_limit()))
        self._stack = AsyncExitStack()
        self.address: tuple[str, int] | None = None

    async def start(self, listen: str) -> None:
        host, port = parse_listen(listen)
        runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=self._stop_seconds)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        manager = runner.server
        assert manager is not None
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: Connection(manager, self.gate, **self._options),
                host,
                port,
                ssl=self._tls,
                backlog=ACCEPTED_AT_ONCE,
                ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_SECONDS,
            )
        except OSError as error:
            await self._stack.aclose()
            raise InputError(f"cannot listen on {listen}: {error.strerror}") from None
        self._stack.callback(server.close)
        for each in server.sockets:
            _queue(each.fileno())
        self.address = server.sockets[0].getsockname()[:2]

    async def stop(self) -> None:
        """Closes the port, lets requests under way finish for a moment, and closes what is left."""
        await self._stack.aclose()
