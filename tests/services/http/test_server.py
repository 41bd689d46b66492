"""A port that stays open for those who behave, whatever the others do."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry

from ecotone.services.endpoints import Endpoints
from ecotone.services.health import Health
from ecotone.services.http import descriptors
from ecotone.services.http import server as server_module
from ecotone.services.http.bodies import Bodies
from ecotone.services.http.server import HttpServer
from fair.waits import patience
from services.http_requests import get, parsed, post, raw

JSON = "Content-Type: application/json"


@asynccontextmanager
async def server(
    *,
    bodies: Bodies | None = None,
    limit: int | None = None,
    header_seconds: float = 10.0,
    allowed_hosts: tuple[str, ...] = (),
) -> AsyncIterator[tuple[HttpServer, tuple[str, int]]]:
    taken = bodies or Bodies(limit=1000, budget=4000, seconds=0.5)

    async def echo(request: web.Request) -> web.StreamResponse:
        async with taken.json(request) as content:
            return web.Response(text=str(len(content)))

    async def hello(_: web.Request) -> web.StreamResponse:
        return web.Response(text="ok")

    app = web.Application()
    app.router.add_post("/echo", echo)
    app.router.add_get("/healthz", hello)
    app.router.add_get("/private", hello)
    started = HttpServer(app, limit=limit, header_seconds=header_seconds, allowed_hosts=allowed_hosts)
    await started.start("127.0.0.1:0")
    assert started.address is not None
    try:
        yield started, started.address
    finally:
        await started.stop()


def test_half_sent_headers_do_not_keep_others_out() -> None:
    async def main() -> tuple[int, float, int]:
        async with server(limit=8) as (running, address):
            hostile = [await asyncio.open_connection(*address) for _ in range(40)]
            for _, writer in hostile:
                writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
            started = time.monotonic()
            status, _ = await get(address, "/healthz")
            seconds = time.monotonic() - started
            inside = len(running.gate)
            for _, writer in hostile:
                writer.close()
            return status, seconds, inside

    status, seconds, inside = asyncio.run(main())
    assert status == 200
    assert seconds < patience()
    assert inside <= 8


def test_a_crowd_that_comes_at_once_keeps_nobody_waiting_for_a_second_attempt() -> None:
    async def main() -> float:
        async with server(limit=8) as (_, address):
            with contextlib.ExitStack() as crowd:
                # Nobody accepts meanwhile: all of them, and the probe, are in the kernel's queue.
                for _ in range(300):
                    crowd.enter_context(socket.create_connection(address, timeout=5)).send(b"GET /healthz HTTP/1.1\r\n")
                started = time.monotonic()
                assert (await get(address, "/healthz"))[0] == 200
                return time.monotonic() - started

    assert asyncio.run(main()) < 0.9


def test_a_header_that_never_ends_is_given_up() -> None:
    async def main() -> bytes:
        async with server(header_seconds=0.2) as (_, address):
            reader, writer = await asyncio.open_connection(*address)
            writer.write(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            async with asyncio.timeout(5):
                left = await reader.read()
            writer.close()
            return left

    assert asyncio.run(main()) == b""


def test_a_body_that_never_ends_is_given_up() -> None:
    async def main() -> int:
        async with server() as (_, address):
            head = f"POST /echo HTTP/1.1\r\nHost: h.svc\r\n{JSON}\r\nContent-Length: 100\r\n\r\nab"
            return parsed(await raw(address, head.encode()))[0]

    assert asyncio.run(main()) == 408


@pytest.mark.parametrize(
    ("size", "headers", "expected"),
    [
        (1000, (JSON,), 200),
        (1001, (JSON,), 413),
        (10, ("Content-Type: text/plain",), 415),
        (10, (), 415),
        (10, (JSON, "Content-Encoding: gzip"), 415),
    ],
)
def test_bodies_are_json_as_it_is_and_bounded(size: int, headers: tuple[str, ...], expected: int) -> None:
    async def main() -> int:
        async with server() as (_, address):
            return (await post(address, "/echo", b"x" * size, *headers))[0]

    assert asyncio.run(main()) == expected


def test_a_chunked_body_is_counted_as_it_comes() -> None:
    async def main() -> int:
        async with server() as (_, address):
            lines = (
                "POST /echo HTTP/1.1",
                "Host: h.svc",
                JSON,
                "Connection: close",
                "Transfer-Encoding: chunked",
                "",
                "",
            )
            head = "\r\n".join(lines).encode()
            chunk = b"400\r\n" + b"x" * 0x400 + b"\r\n"
            return parsed(await raw(address, head + chunk * 3 + b"0\r\n\r\n"))[0]

    assert asyncio.run(main()) == 413


def test_all_bodies_together_have_a_budget() -> None:
    async def main() -> tuple[int, int, int]:
        bodies = Bodies(limit=1000, budget=2000, seconds=5)
        async with server(bodies=bodies) as (_, address):
            head = f"POST /echo HTTP/1.1\r\nHost: h.svc\r\n{JSON}\r\nContent-Length: 1000\r\n\r\n".encode()
            slow = [await asyncio.open_connection(*address) for _ in range(2)]
            for _, writer in slow:
                writer.write(head)
            while bodies.held < 2000:
                await asyncio.sleep(0.01)
            refused, _ = await post(address, "/echo", b"x", JSON)
            for _, writer in slow:
                writer.close()
            while bodies.held:
                await asyncio.sleep(0.01)
            accepted, _ = await post(address, "/echo", b"x", JSON)
            return refused, accepted, bodies.held

    assert asyncio.run(main()) == (503, 200, 0)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1:1", 200),
        ("[::1]:80", 200),
        ("localhost", 200),
        ("ecotone-extender.kube-system.svc:10361", 200),
        ("ecotone-extender.kube-system.svc.cluster.local", 200),
        ("mine.example", 200),
        ("attacker.example", 421),
        ("127.0.0.1.attacker.example", 421),
        ("", 421),
        ("a b", 421),
    ],
)
def test_a_foreign_name_is_turned_away(host: str, expected: int) -> None:
    async def main() -> tuple[int, int]:
        async with server(allowed_hosts=("mine.example",)) as (_, address):
            asked, _ = await get(address, "/private", host=host)
            probed, _ = await get(address, "/healthz", host="anything.example")
            return asked, probed

    assert asyncio.run(main()) == (expected, 200)


@pytest.mark.parametrize("limit", [128, 200, 1024, 65_536])
def test_descriptors_are_left_for_the_api_client(limit: int) -> None:
    inward, outward = descriptors.served(limit), descriptors.called(limit, wanted=160)
    assert inward >= 4
    assert outward >= 4
    assert inward + outward + descriptors.ACCEPTED_AT_ONCE + descriptors.RESERVED <= limit


def test_healthz_fails_while_a_part_does_not_turn() -> None:
    async def main() -> list[int]:
        now = [0.0]
        health = Health(clock=lambda: now[0])
        pulse = health.expect("loop", within=2)
        endpoints = Endpoints(CollectorRegistry(), ready=lambda: None, health=health)
        await endpoints.start("127.0.0.1:0")
        assert endpoints.address is not None
        seen = []
        for moment, act in ((0.0, pulse.beat), (2.0, None), (2.1, None), (2.2, pulse.beat), (9.0, pulse.rest)):
            now[0] = moment
            if act is not None:
                act()
            seen.append((await get(endpoints.address, "/healthz"))[0])
        await endpoints.stop()
        return seen

    assert asyncio.run(main()) == [200, 200, 503, 200, 200]


def test_no_program_opens_a_port_by_any_other_means() -> None:
    """So that what is tested here holds for every program that listens."""
    source = Path(server_module.__file__).parents[1]
    means = re.compile(r"AppRunner|TCPSite|UnixSite|run_app|create_server|start_server|create_datagram_endpoint")
    found = {file.relative_to(source).as_posix() for file in source.rglob("*.py") if means.search(file.read_text())}
    assert found == {"http/server.py"}


def test_bodies_that_break_off_or_are_garbage_leave_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    half = f"POST /echo HTTP/1.1\r\nHost: h.svc\r\n{JSON}\r\nContent-Length: 900\r\n\r\n{{".encode()
    garbage = f"POST /echo HTTP/1.1\r\nHost: h.svc\r\n{JSON}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n".encode()

    async def main() -> list[int]:
        async with server(bodies=Bodies(limit=1000, budget=4000, seconds=5.0)) as (running, address):
            for _ in range(20):
                _, writer = await asyncio.open_connection(*address)
                writer.write(half)
                await writer.drain()
                while not len(running.gate):
                    await asyncio.sleep(0.001)
                writer.transport.abort()
            found = [parsed(await raw(address, garbage + b"12345zz\r\n", seconds=2.0))[0]]
            while len(running.gate):
                await asyncio.sleep(0.001)
            found.append((await post(address, "/echo", b"{}", JSON))[0])
            return found

    assert asyncio.run(main()) == [400, 200]
    assert [each.getMessage() for each in caplog.records if each.levelname == "ERROR"] == []
