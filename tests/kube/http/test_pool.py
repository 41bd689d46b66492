"""Connections are shared: few are opened, none is used twice at a time, and none is kept that cannot be trusted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ecotone.kube.http import connection as connection_module
from ecotone.kube.http import pool as module
from ecotone.kube.http.connection import HttpConnection, LostConnectionError
from ecotone.kube.http.pool import Pool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REQUEST = b"GET / HTTP/1.1\r\n\r\n"


class Server:
    """Counts connections; each request gets the answer of the moment."""

    def __init__(self) -> None:
        self.answer = OK
        self.opened = 0
        self.delay = 0.0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(self.delay)
                writer.write(self.answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


@asynccontextmanager
async def pooling(*, limit: int = 64) -> AsyncIterator[tuple[Server, Pool]]:
    server = Server()
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    pool = Pool("127.0.0.1", port, tls=None, server_hostname=None, limit=limit)
    try:
        yield server, pool
    finally:
        await pool.close()
        listening.close()


async def ask(pool: Pool) -> bytes:
    connection = await pool.take()
    try:
        await connection.send(REQUEST)
        return b"".join([part async for part in connection.iter_any()])
    finally:
        pool.give_back(connection)


def test_hundreds_of_requests_share_a_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 3600)

    async def main() -> tuple[int, set[bytes]]:
        async with pooling() as (server, pool):
            answers = await asyncio.gather(*(ask(pool) for _ in range(300)))
            return server.opened, set(answers)

    opened, answers = asyncio.run(main())
    assert answers == {b"ok"}
    assert opened <= module.FEW


def test_requests_that_wait_long_get_connections_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(module, "FEW", 32)

    async def main() -> int:
        async with pooling(limit=48) as (server, pool):
            server.delay = 0.5
            await asyncio.gather(*(ask(pool) for _ in range(100)))
            return server.opened

    assert module.FEW < asyncio.run(main()) <= 48


def test_an_answer_that_was_not_read_to_its_end_ends_its_connection() -> None:
    async def main() -> tuple[int, bytes]:
        async with pooling() as (server, pool):
            server.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"
            connection = await pool.take()
            await connection.send(REQUEST)
            pool.give_back(connection)
            server.answer = OK
            return server.opened, await ask(pool) + str(server.opened).encode()

    assert asyncio.run(main()) == (1, b"ok2")


def test_bytes_that_nobody_asked_for_end_the_connection() -> None:
    async def main() -> int:
        async with pooling() as (server, pool):
            server.answer = OK + OK
            with pytest.raises(Exception, match=r"more than the answer|nobody waits"):
                await ask(pool)
                await ask(pool)
            server.answer = OK
            await ask(pool)
            return server.opened

    assert asyncio.run(main()) >= 2


def test_who_waits_and_goes_leaves_the_connection_to_the_next() -> None:
    async def main() -> bytes:
        async with pooling(limit=1) as (_, pool):
            held = await pool.take()
            waiting = [asyncio.create_task(pool.take()) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
            pool.give_back(held)
            waiting[1].cancel()  # it was handed the connection in this very turn
            await asyncio.gather(*waiting[:2], return_exceptions=True)
            pool.give_back(await asyncio.wait_for(waiting[2], 5))
            return await asyncio.wait_for(ask(pool), 5)

    assert asyncio.run(main()) == b"ok"


def test_a_server_that_is_not_there_is_told_to_all_who_wait() -> None:
    async def main() -> list[object]:
        async with pooling() as (_, pool):
            port = pool._port
        pool = Pool("127.0.0.1", port, tls=None, server_hostname=None, limit=4)
        found = await asyncio.wait_for(asyncio.gather(*(ask(pool) for _ in range(20)), return_exceptions=True), 10)
        await pool.close()
        return [type(each) for each in found]

    assert set(asyncio.run(main())) == {ConnectionRefusedError}


def test_closing_ends_those_who_wait() -> None:
    async def main() -> object:
        async with pooling(limit=1) as (_, pool):
            await pool.take()
            waiting = asyncio.create_task(pool.take())
            await asyncio.sleep(0)
            await pool.close()
            return (await asyncio.gather(waiting, return_exceptions=True))[0]

    assert isinstance(asyncio.run(main()), ConnectionAbortedError)


def test_a_server_that_goes_away_in_the_middle_is_an_error() -> None:
    async def main() -> None:
        async def rude(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK[:-1])
            writer.close()

        listening = await asyncio.start_server(rude, "127.0.0.1", 0)
        pool = Pool("127.0.0.1", listening.sockets[0].getsockname()[1], tls=None, server_hostname=None, limit=4)
        with pytest.raises(LostConnectionError):
            await ask(pool)
        await pool.close()
        listening.close()

    asyncio.run(main())


def test_a_reader_that_is_slow_holds_the_sender_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "BUFFERED", 1 << 16)
    size = 32 << 20

    async def main() -> tuple[int, int]:
        async with pooling() as (server, pool):
            server.answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + bytes(size)
            connection: HttpConnection = await pool.take()
            await connection.send(REQUEST)
            for _ in range(20):
                await asyncio.sleep(0.01)
            first = len(await connection.read())
            rest = 0
            async for part in connection.iter_any():
                rest += len(part)
            pool.give_back(connection)
            return first, first + rest

    first, whole = asyncio.run(main())
    assert whole == size
    assert first < size // 4
