"""What the honest targets of a scraped cluster say."""

from __future__ import annotations

from live.planted import Planted
from live.scraped_cluster import NODES, Pod, ScrapedCluster

MILLISECONDS = {("edge-1", "edge-2"): 4.0, ("cloud-1", "edge-1"): 40.0, ("cloud-1", "edge-2"): 55.0}
IDLE_CORES, WEB_CORES = 3.0, 0.25
REQUESTS = 20.0


def plant(world: ScrapedCluster) -> None:
    for name in NODES:
        _node(world, name)
    for pods in world.pods.values():
        for pod in pods:
            if pod.namespace in ("shop", "bank", "evil"):
                _container(world, pod)
    plant_requests(world, REQUESTS)


def plant_requests(world: ScrapedCluster, per_second: float) -> None:
    """What web asks of db; the sidecars of both tell it."""
    db = world.one("shop/db")
    for reporter, source in (("destination", db), *(("source", pod) for pod in world.pods["shop/web"])):
        rate = per_second if reporter == "destination" else per_second / len(world.pods["shop/web"])
        said = ends(("shop", "web"), ("shop", "db"), reporter=reporter, principal="shop")
        source.exporter.counter("istio_requests_total", rate, **said)
        source.exporter.counter("istio_request_bytes_sum", 100 * rate, **said)


def _node(world: ScrapedCluster, name: str) -> None:
    exporter = world.one("monitoring/node-exporter", name).exporter
    exporter.counter("node_cpu_seconds_total", IDLE_CORES, mode="idle", cpu="0")
    exporter.gauge("node_memory_MemAvailable_bytes", 3 << 30)
    probe = world.one("kube-system/ecotone-probe", name).exporter
    for other in NODES:
        if other != name:
            one, two = sorted((name, other))
            round_trip(probe, name, other, milliseconds=MILLISECONDS[one, two])


def round_trip(exporter: Planted, origin: str, target: str, *, milliseconds: float) -> None:
    pair = {"origin": origin, "target": target}
    exporter.counter("ecotone_probe_rtt_seconds_sum", 10 * milliseconds / 1000, **pair)
    exporter.counter("ecotone_probe_rtt_seconds_count", 10.0, **pair)


def _container(world: ScrapedCluster, pod: Pod) -> None:
    kubelet = world.kubelets[pod.node]
    labels = {"namespace": pod.namespace, "pod": pod.name, "container": "main"}
    kubelet.counter("container_cpu_usage_seconds_total", WEB_CORES, **labels)
    kubelet.gauge("container_memory_working_set_bytes", 100 << 20, **labels)


def ends(source: tuple[str, str], target: tuple[str, str], *, reporter: str, principal: str) -> dict[str, str]:
    return {
        "source_workload": source[1],
        "source_workload_namespace": source[0],
        "destination_workload": target[1],
        "destination_workload_namespace": target[0],
        "reporter": reporter,
        "source_principal": f"spiffe://cluster.local/ns/{principal}/sa/default",
    }
