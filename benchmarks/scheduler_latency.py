"""One pod on an idle, large cluster: how long until it is bound; and what the scheduler's cache weighs.

Both schedulers run side by side, each for its own schedulerName, on one API server; pods are created one at a time,
alternately for one and the other, and each is deleted again. The latency is from the moment the creation was answered to
the moment an independent watch sees the binding. With ``--bound`` the cluster holds that many running pods.

    python -m benchmarks.scheduler_latency --nodes 5000 --pods 200
    python -m benchmarks.scheduler_latency --nodes 5000 --bound 50000 --pods 50
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
from benchmarks.scheduler_throughput import Bench, _Event, make_pod

from control_plane.cluster import Cluster  # isort: skip - the module above puts the tests on the path

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import connect
from ecotone.kube.resources import PODS

PEERS = {"kube-scheduler": "default-scheduler", "ecotone": "ecotone"}


class Latency:
    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._bound: dict[str, float] = {}
        self._news = asyncio.Event()

    async def follow(self, version: str) -> None:
        decoder = msgspec.json.Decoder(_Event)
        rest = b""
        query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
        async with self._bench.client.stream(PODS.path(namespace="default"), query=query) as content:
            async for chunk in content.iter_any():
                lines, newline, rest = (rest + chunk).rpartition(b"\n")
                for event in decoder.decode_lines(lines) if newline else ():
                    if event.object.spec.node_name:
                        self._bound.setdefault(event.object.metadata.name, time.perf_counter())
                        self._news.set()

    async def one(self, number: int, scheduler: str) -> float:
        body = make_pod(number, workload="plain", scheduler=PEERS[scheduler])
        name = body["metadata"]["name"] = f"single-{scheduler}-{number}"
        await self._bench.client.create(PODS, body, namespace="default")
        created = time.perf_counter()
        async with asyncio.timeout(60):
            while name not in self._bound:
                self._news.clear()
                await self._news.wait()
        await self._bench.client.delete(PODS, name=name, namespace="default", grace_period=0)
        return self._bound[name] - created


def quantile(values: list[float], share: float) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


async def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="ecotone-bench-") as directory:
        cluster = Cluster(Path(directory) / "latency", controllers=False).start()
        try:
            async with ApiClient(connect(kubeconfig=str(cluster.kubeconfig)), timeout=120) as client:
                bench = Bench(cluster, client, nodes=options.nodes)
                await bench.prepare()
                if options.bound:
                    await bench.fill(options.bound)
                children = {"kube-scheduler": bench.start("kube-scheduler"), "ecotone": bench.start(options.policy)}
                listing = json.loads(await client.request("GET", PODS.path(namespace="default"), query={"limit": "1"}))
                latency = Latency(bench)
                following = asyncio.create_task(latency.follow(listing["metadata"]["resourceVersion"]))
                found: dict[str, list[float]] = {name: [] for name in PEERS}
                for number in range(options.pods + 5):
                    for scheduler in PEERS:
                        seconds = await latency.one(number, scheduler)
                        if number >= 5:  # the first few fill caches
                            found[scheduler].append(seconds)
                following.cancel()
                return [
                    {
                        "scheduler": name,
                        "nodes": options.nodes,
                        "bound_pods": options.bound,
                        "p50_ms": round(1000 * quantile(values, 0.5), 2),
                        "p99_ms": round(1000 * quantile(values, 0.99), 2),
                        "rss_mib": round(children[name].resident_bytes() / 2**20, 1),
                        "peak_rss_mib": round(children[name].peak_bytes() / 2**20, 1),
                    }
                    for name, values in found.items()
                ]
        finally:
            cluster.stop()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=200)
    parser.add_argument("--bound", type=int, default=0)
    parser.add_argument("--policy", default="kube-default")
    options = parser.parse_args(arguments)
    print(json.dumps(asyncio.run(measure(options)), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
