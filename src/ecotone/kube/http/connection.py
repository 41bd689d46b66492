"""One connection to an API server: a request is written, its answer read, and only then the next."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from typing import cast

from ecotone.kube.http.parser import AnswerParser, MalformedAnswerError

BUFFERED = 4 << 20
"""Bytes of an answer that wait for their reader; more are left with the kernel, and so with the sender."""


class LostConnectionError(OSError):
    """The connection ended before the answer did."""


class HttpConnection(asyncio.Protocol):
    """The protocol of a transport; also the reader of the answer under way."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: AnswerParser | None = None
        self._parts: list[bytes] = []
        self._buffered = 0
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self.idle_since = self._loop.time()
        self.new = True
        """True until it has been used."""

    # What the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are none by inheritance

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None or answer.complete:
            self._fail(MalformedAnswerError("an answer that nobody waits for"))
            return
        try:
            parts = answer.feed(data)
        except MalformedAnswerError as error:
            self._fail(error)
            return
        if parts:
            self._parts += parts
            self._buffered += sum(map(len, parts))
            if self._buffered > BUFFERED and not self._paused and not answer.complete and self._transport is not None:
                self._paused = True
                self._transport.pause_reading()
        if answer.status:
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if self._answer is None or not self._answer.end():
            self._error = self._error or LostConnectionError(str(exc) if exc else "the server ended the connection")
        self._wake()

    def _fail(self, error: Exception) -> None:
        self._error = error
        self.close()
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What a client calls

    @property
    def usable(self) -> bool:
        """True if a request may be sent: the connection stands, and the last answer was read to its end."""
        answer = self._answer
        return self._transport is not None and self._error is None and (answer is None or _ended(answer))

    @property
    def tls(self) -> ssl.SSLObject | None:
        found = None if self._transport is None else self._transport.get_extra_info("ssl_object")
        return found if isinstance(found, ssl.SSLObject) else None

    def close(self) -> None:
        """Ends the connection at once, whatever is under way."""
        if self._transport is not None:
            self._transport.abort()

    async def send(self, request: bytes, *, silence: float | None = None) -> AnswerParser:
        """Writes a request; returns when the head of its answer is there, or ends after so many seconds of silence."""
        if not self.usable or self._transport is None:
            raise self._error or LostConnectionError("the connection is in use or closed")
        answer = self._answer = AnswerParser()
        self._parts.clear()
        self._buffered = 0
        self._transport.write(request)
        while not answer.status:
            await self._wait(silence)
        return answer

    async def read(self, *, silence: float | None = None) -> bytes:
        """What has arrived of the body since the last call, waited for if there is nothing; empty at its end."""
        answer = self._answer
        assert answer is not None
        while not self._parts:
            if answer.complete:
                return b""
            await self._wait(silence)
        parts = self._parts
        self._parts, self._buffered = [], 0
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def iter_any(self) -> AsyncIterator[bytes]:
        while part := await self.read():
            yield part

    async def _wait(self, silence: float | None) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = self._loop.create_future()
        try:
            if silence is None:
                await self._waiter
            else:
                async with asyncio.timeout(silence):
                    await self._waiter
        finally:
            self._waiter = None
        if self._error is not None and not self._parts:
            raise self._error


def _ended(answer: AnswerParser) -> bool:
    return answer.complete and answer.reusable
