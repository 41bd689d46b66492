"""The limit of binding: every waiting pod is POSTed to some node, without any decision, mirror or event.

Run by `cold_start` beside the schedulers, with as many requests under way as Ecotone's scheduler has.

    python -m benchmarks.bare_posts KUBECONFIG
"""

from __future__ import annotations

import asyncio
import json
import sys

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import connect
from ecotone.kube.resources import NODES, PODS
from ecotone.services.running import run

UNDER_WAY = 128


async def post_all(kubeconfig: str) -> None:
    async with ApiClient(connect(kubeconfig=kubeconfig), connections=UNDER_WAY) as client:
        nodes = json.loads(await client.request("GET", NODES.path(), timeout=120))["items"]
        pods = json.loads(await client.request("GET", PODS.path(namespace="default"), timeout=120))["items"]
        names = [each["metadata"]["name"] for each in nodes]
        waiting = [each["metadata"]["name"] for each in pods if not each["spec"].get("nodeName")]

        async def work() -> None:
            while waiting:
                name = waiting.pop()
                body = {
                    "apiVersion": "v1",
                    "kind": "Binding",
                    "metadata": {"name": name},
                    "target": {"apiVersion": "v1", "kind": "Node", "name": names[len(waiting) % len(names)]},
                }
                path = PODS.path(namespace="default", name=name, subresource="binding")
                await client.request("POST", path, body=body)

        await asyncio.gather(*(work() for _ in range(UNDER_WAY)))
        # It is measured while it lives: stay until told to go.
        await asyncio.Event().wait()


if __name__ == "__main__":
    run(post_all(sys.argv[1]))
