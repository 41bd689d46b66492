"""A scripted API server on loopback: each test says what the next answers are."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from ecotone.kube.client import ApiClient
from ecotone.kube.credentials import TokenSource
from ecotone.kube.kubeconfig import Connection

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Stub:
    """Answers come from the script first, then from ``otherwise``; every request is kept."""

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.otherwise: Answer | None = None
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.headers: list[dict[str, str]] = []

    def then(self, *answers: Answer) -> None:
        self.script.extend(answers)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        parsed = json.loads(body) if body else None
        self.requests.append((request.method, request.path, dict(request.query), parsed))
        self.headers.append(dict(request.headers))
        answer = self.script.popleft() if self.script else self.otherwise
        if answer is None:
            return web.json_response({"kind": "Status", "message": "unscripted", "code": 418}, status=418)
        return await answer(request)


def reply(body: Any = None, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.json_response(body or {}, status=status, headers=headers)

    return answer


def refuse(status: int, message: str = "no", *, retry_after: str | None = None) -> Answer:
    headers = {"Retry-After": retry_after} if retry_after is not None else None
    return reply({"kind": "Status", "message": message, "code": status}, status=status, headers=headers)


def hang() -> Answer:
    async def answer(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(3600)
        raise AssertionError

    return answer


def listing(version: int, *items: dict[str, Any]) -> Answer:
    return reply({"metadata": {"resourceVersion": str(version)}, "items": list(items)})


def watch(*events: dict[str, Any], then_hang: bool = True) -> Answer:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for event in events:
            await response.write(json.dumps(event).encode() + b"\n")
        if then_hang:
            await asyncio.sleep(3600)
        return response

    return answer


def thing(name: str, version: int, *, uid: str | None = None, **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": uid or f"uid-{name}", "resourceVersion": str(version)}
    return {"metadata": metadata, **more}


def event(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": item}


@asynccontextmanager
async def serving(*, tokens: TokenSource | None = None) -> AsyncIterator[tuple[Stub, ApiClient]]:
    stub = Stub()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", stub.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    server = f"http://127.0.0.1:{port}"
    connection = Connection(server=server, tokens=tokens) if tokens else Connection(server=server)
    try:
        async with ApiClient(connection, timeout=5) as client:
            yield stub, client
    finally:
        await runner.cleanup()
