"""The Prometheus client against an HTTP server that misbehaves in every way."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from ecotone.model.errors import InputError
from ecotone.telemetry.prometheus import Failure, Prometheus, PrometheusSettings, Trouble

GOOD = {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {"a": "b"}, "value": [7, "1.5"]}]}}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


Asking = Callable[[Prometheus], Awaitable[Any]]


async def _one(prometheus: Prometheus) -> Any:
    return await prometheus.query('up{a="b"}', at=12.3456)


def ask(handler: Handler, *, asking: Asking = _one, **settings: Any) -> Any:
    async def main() -> Any:
        app = web.Application()
        app.router.add_route("*", "/api/v1/{path}", handler)
        runner = web.AppRunner(app, shutdown_timeout=0.01)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            async with Prometheus(PrometheusSettings(url, **settings)) as prometheus:
                return await asking(prometheus)
        finally:
            await runner.cleanup()

    return asyncio.run(main())


def test_a_query_is_posted_with_its_time() -> None:
    seen: dict[str, Any] = {}

    async def handler(request: web.Request) -> web.StreamResponse:
        seen.update(await request.post(), method=request.method, path=request.path)
        return web.json_response(GOOD)

    found = ask(handler)
    assert [(each.labels, each.value, each.at) for each in found] == [({"a": "b"}, 1.5, 7.0)]
    assert seen["method"] == "POST" and seen["path"] == "/api/v1/query"
    assert seen["query"] == 'up{a="b"}' and seen["time"] == "12.346"


def test_a_question_that_waits_for_its_turn_is_not_late() -> None:
    async def slow(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.2)
        return web.json_response(GOOD)

    async def many(prometheus: Prometheus) -> Any:
        return await asyncio.gather(*(prometheus.query("up", at=1.0) for _ in range(10)))

    found = ask(slow, asking=many, connections=2, timeout=0.5)
    assert len(found) == 10
    assert not [each for each in found if isinstance(each, Failure)]


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (400, Trouble.REFUSED),
        (422, Trouble.REFUSED),
        (403, Trouble.REFUSED),
        (500, Trouble.FAILING),
        (503, Trouble.FAILING),
    ],
)
def test_a_refusal_is_a_value_with_prometheus_own_words(status: int, trouble: Trouble) -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "error", "error": "parse error: x"}, status=status)

    found = ask(handler)
    assert found == Failure(trouble, f"parse error: x ({status})")
    assert found.ours == (status < 500)


def test_an_endless_answer_is_cut_off() -> None:
    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(1000):
            await response.write(b"x" * 10_000)
        return response

    assert ask(handler, body_limit=50_000).trouble is Trouble.TOO_LARGE


def test_a_silent_server_is_a_timeout() -> None:
    async def handler(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(60)
        raise AssertionError

    assert ask(handler, timeout=0.1).trouble is Trouble.TIMEOUT


def test_nonsense_and_redirects_are_no_answers() -> None:
    async def nonsense(_: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>login</html>")

    async def elsewhere(_: web.Request) -> web.StreamResponse:
        raise web.HTTPFound("/login")

    assert ask(nonsense).trouble is Trouble.MALFORMED
    assert ask(elsewhere).trouble is Trouble.FAILING


def test_nobody_listening_is_unreachable() -> None:
    async def main() -> Any:
        async with Prometheus(PrometheusSettings("http://127.0.0.1:1")) as prometheus:
            return await prometheus.query("up", at=0)

    assert asyncio.run(main()).trouble is Trouble.UNREACHABLE


@pytest.mark.parametrize("url", ["", "prometheus:9090", "ftp://x", "http://", "http://user:secret@host:9090"])
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        PrometheusSettings(url)


def test_a_token_goes_only_over_https() -> None:
    with pytest.raises(InputError, match="https"):
        PrometheusSettings("http://host", token_file=Path("token"))
