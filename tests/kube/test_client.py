"""Requests that are bounded, and paths that are what they seem."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from ecotone.kube import client as module
from ecotone.kube.client import decode
from ecotone.kube.errors import ApiError, TooLargeError, UnreachableError
from ecotone.kube.reading.watching import Partial
from ecotone.kube.resources import NODES, PODS
from ecotone.model.errors import InputError
from kube.stub import reply, serving


def chunked(size: int, *, status: int = 200) -> object:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status)
        response.enable_chunked_encoding()
        await response.prepare(request)
        try:
            for _ in range(0, size, 1000):
                await response.write(b"x" * 1000)
        except ConnectionError:
            pass
        return response

    return answer


def test_a_chunked_answer_is_counted_as_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BODY_LIMIT", 10_000)

    async def main() -> tuple[int, int]:
        async with serving() as (stub, client):
            stub.then(chunked(10_000), chunked(1_000_000))  # type: ignore[arg-type]
            fits = await client.request("GET", "/api/v1/pods")
            with pytest.raises(TooLargeError, match="more than 10000 bytes"):
                await client.request("GET", "/api/v1/pods")
            return len(fits), len(stub.requests)

    size, requests = asyncio.run(main())
    assert size == 10_000
    assert requests == 2, "an answer that is too long would be too long again"


def test_a_refusal_has_a_bound_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REFUSAL_LIMIT", 5_000)

    async def main() -> None:
        async with serving() as (stub, client):
            stub.then(chunked(1_000_000, status=403))  # type: ignore[arg-type]
            with pytest.raises((TooLargeError, ApiError)):
                await client.request("POST", "/api/v1/pods", body={})

    asyncio.run(main())


def test_what_was_asked_ahead_is_asked_once_and_given_to_the_first_who_asks() -> None:
    async def main() -> tuple[list[bytes], int, int]:
        async with serving() as (stub, client):
            arrived = asyncio.Event()

            async def first(_: web.Request) -> web.StreamResponse:
                arrived.set()
                return web.json_response({"answer": 1})

            stub.then(first, reply({"answer": 2}))
            client.ask_ahead("/api/v1/pods", query={"limit": "5"}, timeout=5, silence=5)
            await asyncio.wait_for(arrived.wait(), 5)
            ahead = len(stub.requests)
            answers = [await client.request("GET", "/api/v1/pods", query={"limit": "5"}) for _ in range(2)]
            return answers, ahead, len(stub.requests)

    answers, ahead, requests = asyncio.run(main())
    assert ahead == 1, "nobody has asked for it yet, and it is on its way"
    assert [decode(each, dict[str, int]) for each in answers] == [{"answer": 1}, {"answer": 2}]
    assert requests == 2


def test_an_answer_that_is_no_object_is_no_answer() -> None:
    with pytest.raises(UnreachableError, match="not understood"):
        decode(b"<html>", Partial)


@pytest.mark.parametrize(
    "name", ["vault-1/eviction", "..", "", "a b", "A", "a%2fb", "a\n", "x" * 254, "-a", "a.", "a..b", "\u0430"]
)
def test_a_name_that_is_no_name_becomes_no_path(name: str) -> None:
    with pytest.raises(InputError, match="is no name of a Pod"):
        PODS.path(namespace="default", name=name)
    with pytest.raises(InputError):
        NODES.path(name=name)


@pytest.mark.parametrize("namespace", ["a/b", "", "A", "a.b", "x" * 64])
def test_a_namespace_that_is_none_becomes_no_path(namespace: str) -> None:
    with pytest.raises(InputError, match="is no name of a namespace"):
        PODS.path(namespace=namespace, name="fine")


def test_names_that_kubernetes_allows_pass() -> None:
    assert PODS.path(namespace="kube-system", name="a.b-c.d0") == "/api/v1/namespaces/kube-system/pods/a.b-c.d0"
    assert NODES.path(name="ip-10-0-0-1.eu.internal") == "/api/v1/nodes/ip-10-0-0-1.eu.internal"
