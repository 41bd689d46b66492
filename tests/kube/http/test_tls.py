"""Only the first handshake with a server is made in full."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop

from ecotone.kube.http.connection import HttpConnection
from ecotone.kube.http.pool import Pool
from ecotone.kube.http.tls import ServerContext

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def vouching_for_itself(folder: Path) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, and its key."""
    certificate, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=api",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate,
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return certificate, key


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return vouching_for_itself(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def serving(certificate: Path, key: Path, *, port: int = 0) -> AsyncIterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def ask(connection: HttpConnection) -> bool:
    """Sends a request; True if the connection's handshake was a short one."""
    await connection.send(b"GET / HTTP/1.1\r\nHost: api\r\n\r\n")
    assert await connection.read() == b"ok"
    assert connection.tls is not None
    assert connection.tls.session_reused is not None
    return connection.tls.session_reused


async def in_turn(pool: Pool, number: int) -> list[bool]:
    """Whether each of so many connections, opened one after the other, had a short handshake."""
    found = []
    for _ in range(number):
        connection = await pool.take()
        found.append(await ask(connection))
        # What a pool learns from a connection it learns when it gets it back; then it is out of use for the next one.
        pool.give_back(connection)
        connection.close()
        await asyncio.sleep(0.01)
    return found


def on(loop: str, main: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await main()

    factory = uvloop.new_event_loop if loop == "uvloop" else None
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(run())


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
def test_connections_after_the_first_show_its_ticket(pair: tuple[Path, Path], loop: str) -> None:
    async def main() -> None:
        async with serving(*pair) as port:
            context = ServerContext.verifying(cafile=str(pair[0]))
            pool = Pool("127.0.0.1", port, tls=context, server_hostname=None, limit=4)
            assert await in_turn(pool, 4) == [False, True, True, True]
            await pool.close()

    on(loop, main)


def test_a_server_that_does_not_know_the_ticket_is_verified_again(pair: tuple[Path, Path]) -> None:
    async def main() -> None:
        context = ServerContext.verifying(cafile=str(pair[0]))
        for _ in range(2):  # the second one has other keys for its tickets
            async with serving(*pair) as port:
                pool = Pool("127.0.0.1", port, tls=context, server_hostname=None, limit=4)
                assert await in_turn(pool, 3) == [False, True, True]
                await pool.close()

    on("uvloop", main)


def test_a_stranger_is_refused_with_and_without_a_ticket(pair: tuple[Path, Path], tmp_path: Path) -> None:
    stranger, key = vouching_for_itself(tmp_path)

    async def main() -> None:
        context = ServerContext.verifying(cafile=str(pair[0]))
        async with serving(*pair) as port:
            pool = Pool("127.0.0.1", port, tls=context, server_hostname=None, limit=4)
            assert await in_turn(pool, 2) == [False, True]
            await pool.close()
        for known in (context, ServerContext.verifying(cafile=str(pair[0]))):
            async with serving(stranger, key) as port:
                pool = Pool("127.0.0.1", port, tls=known, server_hostname=None, limit=4)
                with pytest.raises(ssl.SSLCertVerificationError):
                    await pool.take()
                await pool.close()

    on("uvloop", main)


def test_the_certificate_must_be_for_the_name_that_was_asked_for(pair: tuple[Path, Path]) -> None:
    async def main() -> None:
        async with serving(*pair) as port:
            context = ServerContext.verifying(cafile=str(pair[0]))
            pool = Pool("127.0.0.1", port, tls=context, server_hostname="api.example", limit=4)
            with pytest.raises(ssl.SSLCertVerificationError):
                await pool.take()
            await pool.close()

    on("uvloop", main)


def test_verification_is_as_strict_as_usual(pair: tuple[Path, Path]) -> None:
    usual = ssl.create_default_context(cafile=str(pair[0]))
    ours = ServerContext.verifying(cafile=str(pair[0]))
    for aspect in ("verify_mode", "check_hostname", "verify_flags", "options", "minimum_version", "maximum_version"):
        assert getattr(ours, aspect) == getattr(usual, aspect), aspect
    assert ours.get_ca_certs() == usual.get_ca_certs()
