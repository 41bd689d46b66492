"""A monitor's cycle over a large cluster: a real API server, a real Prometheus over planted blocks, our monitor between them.

Five thousand nodes (idle CPU, free memory, network coordinates) and ten thousand workloads in twenty application groups of
five hundred, so their figures go into the groups' statuses. Series are planted with ``promtool tsdb create-blocks-from
openmetrics`` at fixed times, and the monitor's clock is set to them. Three cycles, each over everything: the first fill,
one in which nothing has changed, and one in which one node and one workload in a hundred has. Told of each: seconds, CPU of the
monitor, writes.

    python -m benchmarks.monitor_scale --nodes 5000 --workloads 10000
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from control_plane.cluster import Cluster
from control_plane.objects import deployment, node, pod
from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import connect
from ecotone.kube.resources import NAMESPACES, NODES, PODS, STATEFUL_SETS, Resource
from ecotone.kube.writing.events import EventRecorder
from ecotone.services.install.crds import crds
from ecotone.services.monitor.annotations import Rules
from ecotone.services.monitor.application_part import ApplicationPart
from ecotone.services.monitor.cluster_part import ClusterPart
from ecotone.services.monitor.metrics import MonitorMetrics
from ecotone.services.monitor.reading import CountedSource
from ecotone.services.monitor.reporting import Reporter
from ecotone.services.monitor.watched import APP_GROUPS, CLUSTERS, Watched
from ecotone.services.monitor.writer import Writer
from ecotone.services.running import background
from ecotone.telemetry.prometheus import Prometheus, PrometheusSettings
from ecotone.telemetry.sources.reader import Reader
from ecotone.telemetry.sources.speakers import Trust
from live.prometheus_server import PrometheusServer
from real_programs import tool

WINDOW, SCRAPE = 60.0, 15
FILL, QUIET, CHANGED = 90, 105, 180
"""Seconds after the first sample at which the three cycles take place; between the last two figures change."""
CHANGE_AT, LAST = 105, 195
AXES = 8
GROUPS = 20
ONE_IN = 100
SMALL = {"nodes": 20, "workloads": 40}


def node_name(number: int) -> str:
    return f"node-{number:05}"


def group_of(number: int) -> str:
    return f"shop-{number % GROUPS}"


# Series


class Series:
    """Writes samples in OpenMetrics: a rate or a value before the change, and one after it."""

    def __init__(self, out: TextIO, start: int) -> None:
        self._out = out
        self._start = start
        self.count = 0

    def counter(self, name: str, rate: float, after: float | None = None, **labels: str) -> None:
        after = rate if after is None else after
        self._write(name, labels, lambda at: rate * min(at, CHANGE_AT) + after * max(0, at - CHANGE_AT))

    def gauge(self, name: str, value: float, **labels: str) -> None:
        self._write(name, labels, lambda _: value)

    def _write(self, name: str, labels: dict[str, str], value: Any) -> None:
        told = ",".join(f'{key}="{text}"' for key, text in labels.items())
        self.count += 1
        self._out.writelines(
            f"{name}{{{told}}} {value(at):.6g} {self._start + at}\n" for at in range(0, LAST + 1, SCRAPE)
        )


def plant(file: Path, *, nodes: int, workloads: int, start: int) -> int:
    """How many series there are."""
    draw = random.Random(1)
    with file.open("w") as out:
        series = Series(out, start)
        for number in range(nodes):
            rate = draw.uniform(1.0, 15.0)
            changed = rate * 0.5 if number % ONE_IN == 0 else rate
            series.counter("node_cpu_seconds_total", rate, changed, mode="idle", cpu="0", node=node_name(number))
        for number in range(nodes):
            series.gauge("node_memory_MemAvailable_bytes", draw.uniform(1e9, 3e10), node=node_name(number))
        for number in range(nodes):
            axes = {**{str(axis): draw.uniform(-80, 80) for axis in range(AXES)}, "height": 0.5, "error": 0.1}
            for axis, value in axes.items():
                series.gauge("ecotone_probe_coordinate", value, origin=node_name(number), axis=axis)
        for number in range(workloads):
            labels = {"namespace": group_of(number), "pod": f"w{number:05}-0", "container": "main"}
            series.counter("container_cpu_usage_seconds_total", draw.uniform(0.05, 0.5), **labels)
        for number in range(workloads):
            labels = {"namespace": group_of(number), "pod": f"w{number:05}-0", "container": "main"}
            series.gauge("container_memory_working_set_bytes", draw.uniform(1e8, 1e9), **labels)
        plant_calls(series, workloads)
        out.write("# EOF\n")
    return series.count


def plant_calls(series: Series, workloads: int) -> None:
    """Each workload calls the next of its group; one pair in fifty changes, so one workload in a hundred has news twice."""
    draw = random.Random(2)
    rates = [draw.uniform(1.0, 50.0) for _ in range(workloads)]
    for metric, scale in (("requests_total", 1.0), ("request_bytes_sum", 300.0), ("response_bytes_sum", 2000.0)):
        for number, rate in enumerate(rates):
            callee = number + GROUPS
            if callee >= workloads:
                continue
            # Caller and callee both have news: every second of those that shall change calls.
            after = rate * 2 if number // GROUPS % (2 * ONE_IN) == 0 else rate
            ends = {
                "source_workload": f"w{number:05}",
                "source_workload_namespace": group_of(number),
                "destination_workload": f"w{callee:05}",
                "destination_workload_namespace": group_of(number),
                "reporter": "destination",
            }
            series.counter(f"istio_{metric}", scale * rate, scale * after, **ends)


# Objects


def create_all(kubeconfig: str, nodes: int, workloads: int) -> None:
    """In a process of its own, so that the monitor's memory is the monitor's."""
    asyncio.run(_create_all(kubeconfig, nodes, workloads))


async def _create_all(kubeconfig: str, nodes: int, workloads: int) -> None:
    async with ApiClient(connect(kubeconfig=kubeconfig), timeout=120) as client:
        for one in crds():
            path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            await client.request("POST", path, body=one)
        spaces = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": group_of(n)}} for n in range(GROUPS)]
        await _create(client, NAMESPACES, spaces)
        await _create(client, NODES, [node(node_name(number), cpu="16", memory="64Gi") for number in range(nodes)])
        await _create(client, STATEFUL_SETS, [_workload(number) for number in range(workloads)])
        await _create(client, PODS, [_pod(number, nodes) for number in range(workloads)], ready=True)
        period = {"runPeriod": 30, "window": f"{WINDOW:.0f}s"}
        groups = [
            {"apiVersion": APP_GROUPS.api_version, "kind": "AppGroup", "spec": {"name": name, "dialect": "istio", **period},
             "metadata": {"name": name, "namespace": name}} for name in map(group_of, range(GROUPS))
        ]  # fmt: skip
        for _ in range(100):
            with contextlib.suppress(Exception):  # the new kinds take a moment to be served
                body = {
                    "apiVersion": CLUSTERS.api_version,
                    "kind": "Cluster",
                    "metadata": {"name": "all"},
                    "spec": period,
                }
                await client.create(CLUSTERS, body)
                break
            await asyncio.sleep(0.1)
        await _create(client, APP_GROUPS, groups)


def _workload(number: int) -> dict[str, Any]:
    name = group_of(number)
    one = deployment(f"w{number:05}", namespace=name, labels={"app-group": name})
    one["kind"], one["spec"]["serviceName"] = "StatefulSet", f"w{number:05}"
    return one


def _pod(number: int, nodes: int) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": f"w{number:05}", "uid": "1", "controller": True}
    one = pod(f"w{number:05}-0", namespace=group_of(number), nodeName=node_name(number % nodes))
    one["metadata"]["ownerReferences"] = [owner]
    return one


async def _create(client: ApiClient, kind: Resource, bodies: list[dict[str, Any]], *, ready: bool = False) -> None:
    queue = list(reversed(bodies))

    async def work() -> None:
        while queue:
            body = queue.pop()
            space, name = body["metadata"].get("namespace"), body["metadata"]["name"]
            await client.create(kind, body, namespace=space)
            if ready:
                path = kind.path(namespace=space, name=name, subresource="status")
                status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
                await client.request(
                    "PATCH", path, body={"status": status}, content_type="application/merge-patch+json"
                )

    await asyncio.gather(*(work() for _ in range(24)))


# The monitor


class Monitor:
    """The parts that `serve monitor` runs, with a clock that is set."""

    def __init__(self, client: ApiClient, prometheus: Prometheus) -> None:
        self.at = 0.0
        self.metrics = MonitorMetrics()
        self.watched = Watched()
        self.watched.attach(client, cluster=True, applications=True, sources=False, silence=150.0)
        writer = Writer(client, self.metrics, workloads_per_second=5.0, nodes_at_once=16, deadline=lambda: None)
        self.recorder = EventRecorder(client, controller="ecotone-monitor", instance="bench")
        # The series are put there as blocks: no target exposed them.
        trust = Trust(everything=True)
        reader = Reader(
            CountedSource(prometheus, self.metrics), self.watched, trust, place=self.watched.pod, clock=lambda: self.at
        )
        given: tuple[Any, ...] = (
            reader, self.watched, writer, Reporter(writer, self.recorder), self.metrics,
        )  # fmt: skip
        options: dict[str, Any] = {"window": WINDOW, "rules": Rules(), "clock": lambda: self.at}
        self._cluster = ClusterPart(*given, **options)
        self._applications = ApplicationPart(*given, **options)

    async def cycle(self, at: float) -> dict[str, float]:
        self.at = at
        before, cpu, started = self._writes(), time.process_time(), time.monotonic()
        await asyncio.gather(
            *(self._cluster.run(each) for each in list(self.watched.clusters)),
            *(self._applications.run(each) for each in list(self.watched.app_groups)),
        )
        taken = {"seconds": time.monotonic() - started, "CPU seconds": time.process_time() - cpu}
        return taken | {f"writes to {what}": count - before.get(what, 0) for what, count in self._writes().items()}

    def _writes(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for family in self.metrics.writes.collect():
            for each in family.samples:
                if each.name.endswith("_total"):
                    assert each.labels["result"] == "done", each
                    found[each.labels["object"]] = found.get(each.labels["object"], 0.0) + each.value
        return found

    async def caught_up(self, nodes: int) -> None:
        """Until the mirrors show what was written."""
        while True:
            annotated = sum("ecotone.dev/measured-at" in each.metadata.annotations for each in self.watched.nodes)
            if annotated == nodes and all(each.status.observed_generation for each in self.watched.app_groups):
                return
            await asyncio.sleep(0.1)


@contextlib.contextmanager
def series_store(directory: Path, *, nodes: int, workloads: int, start: int) -> Iterator[tuple[PrometheusServer, int]]:
    file = directory / "series.txt"
    count = plant(file, nodes=nodes, workloads=workloads, start=start)
    blocks = directory / "prometheus" / "data"
    blocks.mkdir(parents=True)
    command = [tool("promtool"), "tsdb", "create-blocks-from", "openmetrics", "--quiet", file, blocks]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    file.unlink()
    server = PrometheusServer(directory / "prometheus", {})
    try:
        yield server, count
    finally:
        server.stop()


async def _run(cluster: Cluster, prometheus: PrometheusServer, *, nodes: int, start: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    async with (
        ApiClient(connect(kubeconfig=str(cluster.kubeconfig)), timeout=60) as client,
        Prometheus(PrometheusSettings(prometheus.url, timeout=60)) as source,
    ):
        monitor = Monitor(client, source)
        async with background(monitor.watched.run(), monitor.recorder.run()):
            started = time.monotonic()
            await monitor.watched.wait_synced()
            found["mirrors filled, s"] = time.monotonic() - started
            for name, at in (("first fill", FILL), ("nothing changed", QUIET), ("one in a hundred changed", CHANGED)):
                spent = prometheus.child.cpu_seconds()
                found[name] = await monitor.cycle(start + at)
                found[name]["CPU seconds of Prometheus"] = prometheus.child.cpu_seconds() - spent
                print(f"{name}: {json.dumps(found[name])}", file=sys.stderr, flush=True)
                await monitor.caught_up(nodes)
    found["monitor's memory at most, MiB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def measure(*, nodes: int = 5000, workloads: int = 10000) -> dict[str, Any]:
    start = int(time.time()) - 600
    with tempfile.TemporaryDirectory(prefix="ecotone-bench-") as directory:
        cluster = Cluster(Path(directory) / "cluster", controllers=False).start()
        try:
            given = (str(cluster.kubeconfig), nodes, workloads)
            creating = multiprocessing.get_context("spawn").Process(target=create_all, args=given)
            creating.start()
            with series_store(Path(directory), nodes=nodes, workloads=workloads, start=start) as (prometheus, count):
                creating.join()
                if creating.exitcode != 0:
                    raise RuntimeError("the objects could not be created")
                found = asyncio.run(_run(cluster, prometheus, nodes=nodes, start=start))
        finally:
            cluster.stop()
    return {"nodes": nodes, "workloads": workloads, "series": count, **found}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--workloads", type=int, default=10000)
    options = parser.parse_args()
    print(json.dumps(measure(nodes=options.nodes, workloads=options.workloads), indent=2))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
