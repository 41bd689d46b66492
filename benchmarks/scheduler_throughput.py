"""Bind rate of Ecotone's scheduler beside kube-scheduler's: one API server, one run, alternating.

Pods are created first, then the scheduler is started; the rate is the number of pods over the time from the first to the
last bind, as an independent watch sees them. kube-scheduler runs with client qps and burst 5000 and ``-v=0``, otherwise
with its defaults (at 5,000 nodes it scores a tenth of them; Ecotone scores all). Both write one Scheduled event per pod;
how many arrived within 30 s of the last bind is reported. Absolute figures depend on the machine; the ratio is the result.

    python -m benchmarks.scheduler_throughput --nodes 5000 --pods 2000 --runs 5
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import json
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from control_plane.cluster import Cluster
from control_plane.objects import deployment, node, pod
from control_plane.processes import Child
from control_plane.programs import ECOTONE, ROOT, environment
from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import connect
from ecotone.kube.resources import DEPLOYMENTS, EVENTS, NETWORK_MAPS, NODES, PODS, Resource
from ecotone.services.install.crds import crds

ZONE = "topology.kubernetes.io/zone"
ZONES = 20
APPS = 10
SCHEDULERS = ("kube-scheduler", "kube-default", "ecotone")
BARE_POSTS = {
    "bare-posts": ["ecotone"],
    "bare-posts-aiohttp": ["aiohttp"],
    "bare-posts-busy": ["ecotone", "0.25"],
}
"""Not schedulers: arguments of `bare_posts`, the client and the milliseconds of CPU time it uses up for each pod."""
LIMITS = ("bare-posts", "bare-posts-aiohttp")
WORKLOADS = ("plain", "spread", "affinity")
EVENT_SECONDS = 30.0
PATIENCE_SECONDS = 300.0
MOST_WATCHES = 20


@dataclass
class Run:
    scheduler: str
    workload: str
    nodes: int
    pods: int
    seconds: float
    binds_per_second: float
    cpu_ms_per_pod: float
    peak_rss_mib: float
    events: int
    start_to_first_bind: float


class _Meta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Object(msgspec.Struct):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _Event(msgspec.Struct):
    type: str
    object: _Object


def app_of(number: int) -> str:
    return f"app-{number % APPS}"


def make_pod(number: int, *, workload: str, scheduler: str) -> dict[str, Any]:
    if workload == "bare":
        return pod(f"bare-{number:05}", cpu="100m", memory="128Mi", scheduler=scheduler)
    app = app_of(number)
    labels = {"app": app, "app-group": "bench", "pod-template-hash": "1"}
    # Named as a ReplicaSet names its pods, all applications created side by side.
    one = pod(f"{app}-1-{number:05}", cpu="100m", memory="128Mi", labels=labels, scheduler=scheduler)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-1", "uid": f"rs-{app}", "controller": True}
    one["metadata"]["ownerReferences"] = [owner]
    if workload == "spread":
        one["spec"]["topologySpreadConstraints"] = [
            {
                "maxSkew": 5,
                "topologyKey": ZONE,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": app}},
            }
        ]
    if workload == "affinity":
        one["spec"]["affinity"] = {
            "podAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 10 * (step + 1),
                        "podAffinityTerm": {
                            "topologyKey": ZONE,
                            "labelSelector": {"matchLabels": {"app": app_of(number + step)}},
                        },
                    }
                    for step in range(3)
                ]
            }
        }
    return one


class Bench:
    def __init__(self, cluster: Cluster, client: ApiClient, *, nodes: int) -> None:
        self.cluster = cluster
        self.client = client
        self.nodes = nodes

    async def prepare(self) -> None:
        for one in crds():
            await self.client.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body=one)
        await self._create_all(
            NODES,
            [
                node(f"node-{number:05}", cpu="32", memory="128Gi", labels={ZONE: f"zone-{number % ZONES}"})
                for number in range(self.nodes)
            ],
        )
        # Each application talks to the next two: the network term has something to weigh.
        await self._create_all(
            DEPLOYMENTS,
            [
                deployment(
                    f"app-{number}",
                    annotations={
                        "ecotone.dev/traffic": json.dumps(
                            {f"app-{(number + step) % APPS}": 1000 * step for step in (1, 2)}
                        )
                    },
                )
                for number in range(APPS)
            ],
            namespace="default",
        )
        rtt = {
            f"zone-{a}": {f"zone-{b}": 0.3 if a == b else 2.0 + 3.0 * abs(a - b) for b in range(ZONES)}
            for a in range(ZONES)
        }
        body = {
            "apiVersion": "ecotone.dev/v1alpha1",
            "kind": "NetworkMap",
            "metadata": {"name": "zones"},
            "spec": {"topologyKey": ZONE, "rtt": rtt},
        }
        for _ in range(50):
            try:
                await self.client.create(NETWORK_MAPS, body)
                break
            except Exception:  # the new kind takes a moment to be served
                await asyncio.sleep(0.1)

    async def _create_all(self, resource: Resource, bodies: list[dict[str, Any]], namespace: str | None = None) -> None:
        queue = list(reversed(bodies))

        async def work() -> None:
            while queue:
                await self.client.create(resource, queue.pop(), namespace=namespace)

        await asyncio.gather(*(work() for _ in range(24)))

    async def fill(self, pods: int) -> None:
        """Running pods, spread evenly; they are created on their nodes."""
        bodies = []
        for number in range(pods):
            body = make_pod(number, workload="plain", scheduler="somebody-else")
            body["metadata"]["name"] = f"running-{number:06}"
            body["spec"]["nodeName"] = f"node-{number % self.nodes:05}"
            bodies.append(body)
        await self._create_all(PODS, bodies, namespace="default")

    async def _clear(self) -> None:
        await self.client.request(
            "DELETE", PODS.path(namespace="default"), query={"gracePeriodSeconds": "0"}, timeout=300
        )
        await self.client.request("DELETE", EVENTS.path(namespace="default"), timeout=300)

    def start(self, scheduler: str) -> Child:
        if scheduler == "kube-scheduler":
            return self.cluster.start_kube_scheduler()
        if scheduler in BARE_POSTS:
            arguments = [str(self.cluster.kubeconfig), *BARE_POSTS[scheduler]]
            command = [sys.executable, "-m", "benchmarks.bare_posts", *arguments]
            return self.cluster.child(scheduler, command, env=environment())
        command = [*ECOTONE, "serve", "scheduler", f"--policy={scheduler}", f"--kubeconfig={self.cluster.kubeconfig}"]
        return self.cluster.child(f"ecotone-{scheduler}", command, env=environment())

    async def run(self, scheduler: str, workload: str, *, pods: int) -> Run:
        await self._clear()
        name = "default-scheduler" if scheduler == "kube-scheduler" else "ecotone"
        await self._create_all(
            PODS,
            [make_pod(number, workload=workload, scheduler=name) for number in range(pods)],
            namespace="default",
        )
        await asyncio.sleep(1)  # lets the server's watch caches settle
        # What creating the pods has left is collected now, or one run would pay for it and another would not.
        await self.client.request("GET", "/debug/pprof/heap", query={"gc": "1"}, timeout=60)
        listing = json.loads(await self.client.request("GET", PODS.path(namespace="default"), query={"limit": "1"}))
        watching = asyncio.create_task(self._watch(listing["metadata"]["resourceVersion"], pods))
        await asyncio.sleep(0.2)
        started = time.monotonic()
        child = self.start(scheduler)
        try:
            first, last = await asyncio.wait_for(watching, PATIENCE_SECONDS)
            cpu = child.cpu_seconds()
            rss = child.peak_bytes() / 2**20
            events = 0 if scheduler in BARE_POSTS else await self._events(pods, until=last + EVENT_SECONDS)
        except TimeoutError:
            raise RuntimeError(
                f"{scheduler} did not bind all pods in {PATIENCE_SECONDS:g} s:\n{child.tail()}"
            ) from None
        finally:
            child.stop(grace=5)
            self.cluster.forget(child)
        seconds = last - first
        return Run(
            scheduler,
            workload,
            self.nodes,
            pods,
            round(seconds, 3),
            round((pods - 1) / seconds, 1),
            round(1000 * cpu / pods, 3),
            round(rss, 1),
            events,
            round(first - started, 3),
        )

    async def _watch(self, version: str, pods: int) -> tuple[float, float]:
        seen: set[str] = set()
        decoder = msgspec.json.Decoder(_Event)
        first, last = 0.0, 0.0
        # A server under load ends the watch of a slow reader: it goes on where it was.
        for _ in range(MOST_WATCHES):
            query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "3600"}
            rest = b""
            async with self.client.stream(PODS.path(namespace="default"), query=query) as content:
                async for chunk in content.iter_any():
                    lines, newline, rest = (rest + chunk).rpartition(b"\n")
                    if not newline:
                        continue
                    for event in decoder.decode_lines(lines):
                        version = event.object.metadata.resource_version or version
                        if event.object.spec.node_name and event.object.metadata.name not in seen:
                            seen.add(event.object.metadata.name)
                            last = time.monotonic()
                            first = first or last
                    if len(seen) >= pods:
                        return first, last
        raise RuntimeError(f"the watch ended {MOST_WATCHES} times; {len(seen)} pods were bound")

    async def _events(self, pods: int, *, until: float) -> int:
        """Scheduled events that arrived in time."""
        count = 0
        while count < pods and time.monotonic() < until:
            await asyncio.sleep(0.5)
            body = await self.client.request("GET", EVENTS.path(namespace="default"), query={"limit": "20000"})
            count = sum(one.get("reason") == "Scheduled" for one in json.loads(body)["items"])
        return count


def compile_ahead() -> None:
    """As an installed package is: where no bytecode may be written, every start would compile the whole source tree."""
    compileall.compile_dir(ROOT / "src" / "ecotone", quiet=1)


async def measure(options: argparse.Namespace) -> list[Run]:
    compile_ahead()
    results: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="ecotone-bench-") as directory:
        for nodes in options.nodes:
            cluster = Cluster(Path(directory) / str(nodes), controllers=False).start()
            try:
                async with ApiClient(connect(kubeconfig=str(cluster.kubeconfig)), timeout=120) as client:
                    bench = Bench(cluster, client, nodes=nodes)
                    await bench.prepare()
                    for workload in options.workload:
                        for turn in range(options.runs):
                            for scheduler in options.scheduler:
                                run = await bench.run(scheduler, workload, pods=options.pods)
                                results.append(run)
                                print(f"[{turn + 1}/{options.runs}] {run}", file=sys.stderr, flush=True)
            finally:
                cluster.stop()
    return results


def summarise(results: list[Run]) -> list[dict[str, Any]]:
    """Medians, and the ratio to kube-scheduler in the same place."""
    rows = []
    groups = sorted({(run.nodes, run.workload, run.scheduler) for run in results})
    medians = {}
    for group in groups:
        runs = [run for run in results if (run.nodes, run.workload, run.scheduler) == group]
        medians[group] = {
            "binds_per_second": statistics.median(run.binds_per_second for run in runs),
            "cpu_ms_per_pod": statistics.median(run.cpu_ms_per_pod for run in runs),
            "peak_rss_mib": statistics.median(run.peak_rss_mib for run in runs),
            "events_in_time": min(run.events for run in runs) >= runs[0].pods,
        }
    for nodes, workload, scheduler in groups:
        mine, peer = medians[nodes, workload, scheduler], medians.get((nodes, workload, "kube-scheduler"))
        ratio = None if peer is None else round(mine["binds_per_second"] / peer["binds_per_second"], 2)
        rows.append({"nodes": nodes, "workload": workload, "scheduler": scheduler, **mine, "ratio": ratio})
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, nargs="+", default=[5000, 1000])
    parser.add_argument("--pods", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--workload", nargs="+", default=list(WORKLOADS), choices=WORKLOADS)
    parser.add_argument("--scheduler", nargs="+", default=list(SCHEDULERS), choices=SCHEDULERS)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    options = parser.parse_args(arguments)
    results = asyncio.run(measure(options))
    rows = summarise(results)
    if options.output == "json":
        print(json.dumps({"summary": rows, "runs": [asdict(run) for run in results]}, indent=2))
        return 0
    print(
        f"{'nodes':>6} {'workload':<10} {'scheduler':<16} {'binds/s':>8} {'CPU ms/pod':>11} {'RSS MiB':>8} {'ratio':>6} events"
    )
    for row in rows:
        print(
            f"{row['nodes']:>6} {row['workload']:<10} {row['scheduler']:<16} {row['binds_per_second']:>8.1f} "
            f"{row['cpu_ms_per_pod']:>11.2f} {row['peak_rss_mib']:>8.1f} {row['ratio'] or 0:>6.2f} "
            f"{'all in 30 s' if row['events_in_time'] else 'LATE'}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
