"""Two applications in two namespaces that real programs place, measure and move; and what they truly cost.

The figures are planted, as a mesh, cAdvisor and the probes would report them, and the test knows them: what a user's
request costs is worked out here from the planted figures and the pods' nodes alone, with none of the code under test.

    shop   users -> web (2 replicas) -> api (3) -> db (1)
    bank   users -> teller (2) -> ledger (1, on cloud only)
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from control_plane.cluster import Cluster
from control_plane.objects import deployment, node
from control_plane.processes import wait_until
from ecotone.manifests import keys
from live.planted import Planted
from live.shop import entrance, has_account, install_crds, on_node, on_workload, ready_pods, table

NODES = ("edge-a", "edge-b", "cloud")
WORKLOADS = {("shop", "web"): 2, ("shop", "api"): 3, ("shop", "db"): 1, ("bank", "teller"): 2, ("bank", "ledger"): 1}
POD_CORES, POD_BYTES = 0.02, 50 << 20
VERSION = "ecotone.dev/v1alpha1"

Pair = tuple[str, str]


@dataclass
class World:
    """Round trips in ms, requests a second per call, and users per entrance and second."""

    rtt: dict[Pair, float]
    calls: dict[tuple[str, str, str], float]
    users: dict[tuple[str, str, str], float]

    def distance(self, one: str, other: str) -> float:
        return 0.0 if one == other else self.rtt[min(one, other), max(one, other)]

    def cost(self, namespace: str, where: Mapping[str, list[str]]) -> float:
        """Milliseconds on the network per request of a user, calls spread evenly over replicas."""
        spent = 0.0
        for (space, caller, callee), rate in self.calls.items():
            if space == namespace:
                ways = [self.distance(a, b) for a in where[caller] for b in where[callee]]
                spent += rate * sum(ways) / len(ways)
        for (space, entry, callee), rate in self.users.items():
            if space == namespace:
                ways = [self.distance(entry, b) for b in where[callee]]
                spent += rate * sum(ways) / len(ways)
        return spent / sum(rate for (space, _, _), rate in self.users.items() if space == namespace)


def build(cluster: Cluster) -> None:
    """Nodes, namespaces, entrances and workloads; returns when all pods are ready somewhere."""
    install_crds(cluster)
    cluster.create(*(node(name, cpu="4", memory="8Gi") for name in NODES))
    for namespace in ("shop", "bank"):
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    for namespace in ("shop", "bank"):
        wait_until(partial(has_account, cluster, namespace), timeout=120, what=f"account of {namespace}")
        cluster.create(entrance(namespace, group=namespace))
    for (namespace, name), replicas in WORKLOADS.items():
        where = {"nodeSelector": {"kubernetes.io/hostname": "cloud"}} if name == "ledger" else {}
        cluster.create(
            deployment(name, replicas=replicas, namespace=namespace, labels={"app-group": namespace}, **where)
        )


def all_ready(cluster: Cluster) -> bool:
    return all(len(nodes_of(cluster, *each)) == count for each, count in WORKLOADS.items())


def nodes_of(cluster: Cluster, namespace: str, workload: str) -> list[str]:
    found = ready_pods(cluster, namespace)
    return sorted(where for name, where in found.items() if name.startswith(workload + "-"))


def placement(cluster: Cluster, namespace: str) -> dict[str, list[str]]:
    return {name: nodes_of(cluster, namespace, name) for space, name in WORKLOADS if space == namespace}


def measure(cluster: Cluster) -> None:
    """The resources that ask for monitoring; descheduling waits for `descheduled`."""
    period = {"runPeriod": 1, "window": "6s"}
    cluster.create({"apiVersion": VERSION, "kind": "Cluster", "metadata": {"name": "all"}, "spec": period})
    for namespace in ("shop", "bank"):
        cluster.create(
            {
                "apiVersion": VERSION,
                "kind": "AppGroup",
                "metadata": {"name": namespace, "namespace": namespace},
                "spec": {"name": namespace, "dialect": "istio", **period, "descheduler": {"coolDownSeconds": 0}},
            }
        )


def written(cluster: Cluster, world: World) -> bool:
    """True once what stands on nodes and workloads is the world, within the monitor's dead band."""
    rtt = {name: table(on_node(cluster, name), keys.LATENCIES) for name in NODES}
    there = [(rtt[one].get(other, 0.0), wanted) for (one, other), wanted in world.rtt.items()]
    said = {each: table(on_workload(cluster, each[1], namespace=each[0]), keys.REQUESTS) for each in WORKLOADS}
    there += [(said[space, caller].get(callee, 0.0), rate) for (space, caller, callee), rate in world.calls.items()]
    for space, _, callee in world.users:
        entering = {name: rate for (where, name, to), rate in world.users.items() if (where, to) == (space, callee)}
        there += [(said[space, callee].get(f"users@{name}", 0.0), entering.get(name, 0.0)) for name in NODES]
    return all(abs(found - wanted) <= 0.051 * wanted for found, wanted in there)


def stated(cluster: Cluster) -> dict[str, dict[str, str]]:
    """What is written on workloads about their traffic, without when it was measured."""
    found = {"/".join(each): on_workload(cluster, each[1], namespace=each[0]) for each in WORKLOADS}
    return {name: {key: there.get(key, "") for key in (keys.REQUESTS, keys.CALLS)} for name, there in found.items()}


def moves(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    path = f"/apis/{VERSION}/namespaces/{namespace}/appgroups/{namespace}"
    found: list[dict[str, Any]] = cluster.call("GET", path).get("status", {}).get("moves", [])
    return found


def reservations(cluster: Cluster) -> list[dict[str, Any]]:
    return cluster.list(f"/apis/{VERSION}/reservations")


class Meters(threading.Thread):
    """Reports the world as exporters would: of pods that are there now, whatever their names."""

    def __init__(self, cluster: Cluster, source: Planted, world: World) -> None:
        super().__init__(daemon=True)
        self._cluster = cluster
        self._source = source
        self._over = threading.Event()
        self._pods: set[str] = set()
        self.world = world

    def run(self) -> None:
        while not self._over.wait(0.3):
            try:
                self.report()
            except OSError:
                continue

    def stop(self) -> None:
        self._over.set()
        self.join(10)

    def report(self) -> None:
        world, source = self.world, self._source
        for name in NODES:
            source.counter("node_cpu_seconds_total", 3.5, mode="idle", cpu="0", node=name)
            source.gauge("node_memory_MemAvailable_bytes", 6 << 30, node=name)
        for (one, other), milliseconds in world.rtt.items():
            for origin, target in ((one, other), (other, one)):
                source.counter("ecotone_probe_rtt_seconds_sum", 2 * milliseconds / 1000, origin=origin, target=target)
                source.counter("ecotone_probe_rtt_seconds_count", 2.0, origin=origin, target=target)
        for (namespace, caller, callee), rate in world.calls.items():
            self._talk(namespace, caller, callee, rate, reporter="destination")
        alive = set()
        for namespace in ("shop", "bank"):
            for pod, where in ready_pods(self._cluster, namespace).items():
                alive.add(pod)
                if pod.startswith("entry-"):
                    self._entrance(namespace, pod, where)
                labels = {"namespace": namespace, "pod": pod, "container": "main"}
                source.counter("container_cpu_usage_seconds_total", POD_CORES, **labels)
                source.gauge("container_memory_working_set_bytes", POD_BYTES, **labels)
        for gone in self._pods - alive:
            source.drop(f'pod="{gone}"')
        self._pods = alive

    def _entrance(self, namespace: str, pod: str, where: str) -> None:
        for space, name in WORKLOADS:
            rate = self.world.users.get((namespace, where, name), 0.0)
            if space == namespace and any(each[0] == space and each[2] == name for each in self.world.users):
                self._talk(namespace, "entry", name, rate, reporter="source", namespace=namespace, pod=pod)

    def _talk(self, space: str, caller: str, callee: str, rate: float, **labels: str) -> None:
        ends = {
            "source_workload": caller,
            "source_workload_namespace": space,
            "destination_workload": callee,
            "destination_workload_namespace": space,
            **labels,
        }
        self._source.counter("istio_requests_total", rate, **ends)
        self._source.counter("istio_request_bytes_sum", 200 * rate, **ends)
        self._source.counter("istio_response_bytes_sum", 800 * rate, **ends)


@contextmanager
def metered(cluster: Cluster, source: Planted, world: World) -> Iterator[Meters]:
    meters = Meters(cluster, source, world)
    meters.report()
    meters.start()
    try:
        yield meters
    finally:
        meters.stop()
