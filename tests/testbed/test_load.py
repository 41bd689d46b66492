"""The load generator keeps the scenario's rates and says what became of every request."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace

from aiohttp import web

from ecotone.testbed.application.load import Generator, LoadPlan, Stream


def play(streams: list[Stream], *, status: int = 200, delay: float = 0.0) -> tuple[list[list[float]], list[int]]:
    """The generator's lines, and the sizes the server received."""
    sizes: list[int] = []

    async def answer(request: web.Request) -> web.Response:
        sizes.append(len(await request.read()))
        await asyncio.sleep(delay)
        return web.Response(status=status, body=bytes(int(request.headers["X-Response-Bytes"])))

    async def run() -> str:
        app = web.Application()
        app.router.add_post("/call/get", answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        out = io.StringIO()
        here = [replace(stream, url=f"http://127.0.0.1:{port}/call/get") for stream in streams]
        await Generator(LoadPlan(here), out).run()
        await runner.cleanup()
        return out.getvalue()

    return [json.loads(line) for line in asyncio.run(run()).splitlines()], sizes


def test_an_open_loop_sends_about_as_many_as_its_rate_says_and_does_not_wait() -> None:
    lines, sizes = play([Stream(0.0, 1.0, "", poisson=60, request=100, seed=1)], delay=0.5)
    assert 35 < len(lines) < 90
    assert set(sizes) == {100}
    assert all(0.5 <= seconds < 2 for _, seconds, *_ in lines)


def test_users_send_at_their_ticks_and_skip_those_they_miss() -> None:
    lines, _ = play([Stream(0.0, 1.0, "", users=2, every=0.2, seed=2)], delay=0.3)
    assert 4 <= len(lines) <= 6


def test_an_error_is_a_request_without_an_answer() -> None:
    lines, _ = play([Stream(0.0, 0.3, "", users=1, think=0.1, seed=3)], status=502)
    assert lines
    assert not any(answered for _, _, answered, _ in lines)


def test_nobody_there_is_a_request_without_an_answer() -> None:
    async def run() -> str:
        out = io.StringIO()
        await Generator(LoadPlan([Stream(0.0, 0.2, "http://127.0.0.1:9/call/get", users=1, every=0.1)]), out).run()
        return out.getvalue()

    lines = [json.loads(line) for line in asyncio.run(run()).splitlines()]
    assert lines
    assert not any(answered for _, _, answered, _ in lines)
