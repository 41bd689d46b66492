"""The limit of binding: every waiting pod is POSTed to some node, without any decision, mirror or event.

Run by `cold_start` beside the schedulers, with as many requests under way as Ecotone's scheduler has. There are two limits,
since a client's own work counts where it shares the machine with the API server: that of Ecotone's client, and that of
aiohttp, used as anybody would. With MILLISECONDS, so much CPU time is used up before each request, in place of a decision.

    python -m benchmarks.bare_posts KUBECONFIG [ecotone|aiohttp [MILLISECONDS]]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import Connection, connect
from ecotone.kube.resources import NODES, PODS
from ecotone.services.running import run

UNDER_WAY = 128

Ask = Callable[[str, str, dict[str, Any] | None], Awaitable[bytes]]


@asynccontextmanager
async def own_client(connection: Connection) -> AsyncIterator[Ask]:
    async with ApiClient(connection, connections=UNDER_WAY) as client:
        yield lambda method, path, body: client.request(method, path, body=body, timeout=120)


@asynccontextmanager
async def aiohttp_client(connection: Connection) -> AsyncIterator[Ask]:
    import aiohttp

    token = await connection.tokens.token()
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    connector = aiohttp.TCPConnector(limit=UNDER_WAY, ssl=connection.tls or True)
    async with aiohttp.ClientSession(connection.server, connector=connector, headers=headers) as session:

        async def ask(method: str, path: str, body: dict[str, Any] | None) -> bytes:
            async with session.request(method, path, json=body, raise_for_status=True) as answer:
                return await answer.read()

        yield ask


CLIENTS = {"ecotone": own_client, "aiohttp": aiohttp_client}


def spend(milliseconds: float) -> None:
    end = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < end:
        pass


async def post_all(kubeconfig: str, client: str, *, busy_ms: float = 0.0) -> None:
    async with CLIENTS[client](connect(kubeconfig=kubeconfig)) as ask:
        nodes = json.loads(await ask("GET", NODES.path(), None))["items"]
        pods = json.loads(await ask("GET", PODS.path(namespace="default"), None))["items"]
        names = [each["metadata"]["name"] for each in nodes]
        waiting = [each["metadata"]["name"] for each in pods if not each["spec"].get("nodeName")]

        async def work() -> None:
            while waiting:
                name = waiting.pop()
                if busy_ms:
                    spend(busy_ms)
                body = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": name},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": names[len(waiting) % len(names)]},
                }
                await ask("POST", PODS.path(namespace="default", name=name, subresource="binding"), body)

        await asyncio.gather(*(work() for _ in range(UNDER_WAY)))
        # It is measured while it lives: stay until told to go.
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kubeconfig")
    parser.add_argument("client", nargs="?", default="ecotone", choices=CLIENTS)
    parser.add_argument("busy_ms", nargs="?", default=0.0, type=float)
    options = parser.parse_args()
    run(post_all(options.kubeconfig, options.client, busy_ms=options.busy_ms))
