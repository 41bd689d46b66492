"""Who may look: tokens and their owners, at a bounded cost to the API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from ecotone.services.http.callers import REVIEW_BURST, Authoriser
from ecotone.services.http.server import HttpServer
from kube.stub import Stub, reply
from kube.stub import serving as stub_serving
from services.http_requests import get

USER = {"username": "ann", "uid": "u-1", "groups": ["devs"], "extra": {"scopes": ["read"]}}


@asynccontextmanager
async def guarded(
    *, trust_loopback: bool = False, clock: Any = None
) -> AsyncIterator[tuple[tuple[str, int], Stub, Authoriser]]:
    """A route that shows a secret to those who may read pods in ``shop``; the stub knows one good token."""
    async with stub_serving() as (stub, client):
        options = {} if clock is None else {"clock": clock}
        authoriser = Authoriser(client, trust_loopback=trust_loopback, **options)

        async def review(request: web.Request) -> web.StreamResponse:
            body = json.loads(await request.read())
            if body["kind"] == "TokenReview":
                good = body["spec"]["token"] == "good"
                status: dict[str, Any] = {"authenticated": good, **({"user": USER} if good else {})}
            else:
                status = {"allowed": body["spec"]["user"] == "ann"}
            return await reply({"status": status}, status=201)(request)

        stub.otherwise = review

        async def secret(request: web.Request) -> web.StreamResponse:
            allowed = await authoriser.allowed(request, namespace="shop")
            return web.Response(text="secret") if allowed else web.Response(status=403)

        app = web.Application()
        app.router.add_get("/secret", secret)
        server = HttpServer(app)
        await server.start("127.0.0.1:0")
        assert server.address is not None
        try:
            yield server.address, stub, authoriser
        finally:
            await server.stop()


def bearer(token: str) -> str:
    return f"Authorization: Bearer {token}"


def test_loopback_alone_opens_nothing_unless_the_operator_says_so() -> None:
    async def main() -> list[int]:
        seen = []
        for trusted in (False, True):
            async with guarded(trust_loopback=trusted) as (address, _, _):
                seen.append((await get(address, "/secret"))[0])
        return seen

    assert asyncio.run(main()) == [403, 200]


@pytest.mark.parametrize("host", ["rebound.example", "mesh.shop.svc"])
def test_loopback_under_another_name_is_not_trusted(host: str) -> None:
    async def main() -> int:
        async with guarded(trust_loopback=True) as (address, _, _):
            return (await get(address, "/secret", host=host))[0]

    assert asyncio.run(main()) in (403, 421)


def test_a_good_token_opens_and_everything_about_its_owner_is_passed_on() -> None:
    async def main() -> tuple[int, list[Any]]:
        async with guarded() as (address, stub, _):
            return (await get(address, "/secret", bearer("good")))[0], stub.requests

    status, requests = asyncio.run(main())
    assert status == 200
    access = requests[1][3]["spec"]
    assert {key: access[key] for key in ("user", "uid", "groups", "extra")} == {
        "user": "ann",
        "uid": "u-1",
        "groups": ["devs"],
        "extra": {"scopes": ["read"]},
    }


def test_answers_are_kept_good_and_bad_alike() -> None:
    async def main() -> tuple[list[int], int]:
        async with guarded() as (address, stub, _):
            seen = [(await get(address, "/secret", bearer(token)))[0] for token in ("good", "bad") * 5]
            return seen, len(stub.requests)

    seen, requests = asyncio.run(main())
    assert seen == [200, 403] * 5
    assert requests == 3


def test_junk_tokens_cost_the_api_server_a_bounded_number_of_reviews() -> None:
    async def main() -> tuple[set[int], int]:
        async with guarded(clock=lambda: 100.0) as (address, stub, _):
            seen = {(await get(address, "/secret", bearer(f"junk-{number}")))[0] for number in range(300)}
            return seen, len(stub.requests)

    seen, requests = asyncio.run(main())
    assert seen == {403, 429}
    assert requests == REVIEW_BURST


@pytest.mark.parametrize("token", ["\xff", "a b", "x" * 17_000, "a=b", "é"])
def test_what_cannot_be_a_token_is_a_bad_request(token: str) -> None:
    async def main() -> tuple[int, int]:
        async with guarded() as (address, stub, _):
            return (await get(address, "/secret", bearer(token)))[0], len(stub.requests)

    status, requests = asyncio.run(main())
    assert status == 400
    assert requests == 0


def test_tokens_are_not_kept_in_memory() -> None:
    async def main() -> bool:
        async with guarded() as (address, _, authoriser):
            await get(address, "/secret", bearer("good"))
            return any(b"good" in key for key in authoriser._known)

    assert asyncio.run(main()) is False
