"""What a bed tells its Prometheus: each node's own CPU and memory, and which pods to scrape.

On one machine every node-exporter sees the same kernel. The node's cgroup knows better: idle time is what its quota would
have allowed and its pods did not use; available memory is its limit less what they hold. One process serves all nodes, every
series labelled with the node's name. Debian's Prometheus is built without discovery by Kubernetes, so the pods annotated for
scraping are listed here as well (`/targets`, Prometheus' HTTP discovery).

Runs as `python -m ecotone.testbed.figures STATE ADDRESS PORT`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.kubeconfig import connect
from ecotone.testbed import state
from ecotone.testbed.layout import Paths
from ecotone.testbed.node import cgroups
from ecotone.testbed.state import BedState

PORT = 9100
SCRAPE, SCRAPE_PORT, SCRAPE_PATH = (f"prometheus.io/{what}" for what in ("scrape", "port", "path"))


def exposition(bed: BedState, *, seconds: float) -> str:
    """The text Prometheus reads, `seconds` after the bed was started."""
    cpu, memory = ["# TYPE node_cpu_seconds_total counter"], ["# TYPE node_memory_MemAvailable_bytes gauge"]
    for node in bed.topology.nodes:
        try:
            used, held = cgroups.cpu_seconds(node), cgroups.memory_bytes(node)
        except OSError:
            continue  # switched off
        # A node's share of the machine counts as the cores that its kubelet offers.
        busy = used / bed.core
        idle = max(0.0, bed.millicores(node) / 1000 * seconds - busy)
        label = f'node="{node.name}"'
        cpu.append(f'node_cpu_seconds_total{{{label},cpu="0",mode="user"}} {busy:.3f}')
        cpu.append(f'node_cpu_seconds_total{{{label},cpu="0",mode="idle"}} {idle:.3f}')
        memory.append(f"node_memory_MemAvailable_bytes{{{label}}} {max(0, node.spec.memory - held)}")
    return "\n".join([*cpu, *memory]) + "\n"


def targets(pods: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Running pods that ask to be scraped, as Prometheus' HTTP discovery wants them."""
    found = []
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status", {})
        wish = metadata.get("annotations", {})
        if wish.get(SCRAPE) != "true" or status.get("phase") != "Running" or not status.get("podIP"):
            continue
        labels = {
            "__metrics_path__": wish.get(SCRAPE_PATH, "/metrics"),
            "namespace": metadata["namespace"],
            "pod": metadata["name"],
            "node": pod["spec"].get("nodeName", ""),
        }
        found.append({"targets": [f"{status['podIP']}:{wish.get(SCRAPE_PORT, '80')}"], "labels": labels})
    return found


class Figures:
    def __init__(self, paths: Paths, client: ApiClient) -> None:
        self._paths = paths
        self._client = client
        self._started = time.monotonic()

    async def metrics(self, _: web.Request) -> web.Response:
        bed = state.load(self._paths)
        if bed is None:
            raise web.HTTPServiceUnavailable(text="no bed")
        return web.Response(text=exposition(bed, seconds=time.monotonic() - self._started))

    async def targets(self, _: web.Request) -> web.Response:
        try:
            answer = await self._client.request("GET", resources.PODS.path(), timeout=5)
        except (ApiError, UnreachableError) as error:
            raise web.HTTPServiceUnavailable(text=str(error)) from None
        return web.json_response(targets(msgspec.json.decode(answer)["items"]))


async def serve(root: Path, address: str, port: int) -> None:
    paths = Paths(root)
    async with ApiClient(connect(kubeconfig=str(paths.admin)), user_agent="ecotone-testbed") as client:
        figures = Figures(paths, client)
        app = web.Application()
        app.router.add_get("/metrics", figures.metrics)
        app.router.add_get("/targets", figures.targets)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, address, port).start()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
