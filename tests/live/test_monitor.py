"""Planted metrics -> a real Prometheus -> the monitor -> annotations on a real control plane -> `ecotone explain`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from control_plane.cluster import Cluster
from control_plane.processes import wait_until
from control_plane.programs import Program, run_ecotone
from ecotone.manifests import keys
from live import figures
from live.front import Front
from live.planted import Planted, planted
from live.prometheus_server import PrometheusServer
from live.shop import conditions, install, monitored, on_node, on_workload, pods_of, table

FAST = ("--max-age=60", "--trust-prometheus")
"""What is planted is exposed by a target that is nobody's."""
CLUSTER = "/apis/ecotone.dev/v1alpha1/clusters/all"
GROUP = "/apis/ecotone.dev/v1alpha1/namespaces/shop/appgroups/shop"


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True)
    cluster.start_kube_scheduler()
    install(cluster)
    yield cluster
    cluster.stop()


@pytest.fixture
def source() -> Iterator[Planted]:
    with planted() as one:
        yield one


@pytest.fixture
def prometheus(source: Planted, tmp_path: Path) -> Iterator[PrometheusServer]:
    server = PrometheusServer(tmp_path / "prometheus", {"planted": [{"targets": [source.target]}]})
    yield server
    server.stop()


@pytest.fixture
def front(prometheus: PrometheusServer) -> Iterator[Front]:
    one = Front(prometheus.url)
    yield one
    one.stop()


@pytest.fixture
def monitor(cluster: Cluster, front: Front) -> Iterator[Program]:
    program = Program(cluster, "monitor", f"--prometheus={front.url}", *FAST).wait_ready()
    yield program
    assert program.stop() == 0
    for path in (CLUSTER, GROUP):
        cluster.call("DELETE", path)
    for name in ("web", "db"):
        path = f"/apis/apps/v1/namespaces/shop/deployments/{name}"
        cluster.call(
            "PATCH",
            path,
            {"metadata": {"annotations": dict.fromkeys(on_workload(cluster, name))}},
            content_type="application/merge-patch+json",
        )
    for name in figures.IDLE_CORES:
        body = {"metadata": {"annotations": dict.fromkeys(on_node(cluster, name))}}
        cluster.call("PATCH", f"/api/v1/nodes/{name}", body, content_type="application/merge-patch+json")


def explained(cluster: Cluster, pod: str) -> dict[str, dict[str, object]]:
    _, printed, problems = run_ecotone(cluster, "explain", f"shop/{pod}", "-o", "json")
    assert printed, problems
    found: dict[str, dict[str, object]] = json.loads(printed)["measured"]
    return found


@pytest.mark.parametrize("dialect", ["istio", pytest.param("envoy", marks=pytest.mark.sample), "opentelemetry"])
def test_what_is_planted_is_what_explain_shows(
    dialect: str, cluster: Cluster, source: Planted, monitor: Program
) -> None:
    figures.plant_nodes(source, matched_by="node" if dialect == "istio" else "instance")
    figures.plant_usage(source, cluster)
    figures.plant_traffic(dialect, source, cluster)
    monitored(cluster)
    wait_until(
        lambda: keys.REQUESTS in on_workload(cluster, "web") and keys.LATENCIES in on_node(cluster, "edge-1"),
        timeout=120,
        what="written figures",
        child=monitor.child,
    )
    wait_until(lambda: conditions(cluster, CLUSTER).get("Ready", {}).get("status") == "True", timeout=120, what="Ready")
    pod = next(iter(pods_of(cluster, "web")))
    found = explained(cluster, pod)
    workload, nodes = found["workload"], found["nodes"]
    assert workload["requests_per_second"] == pytest.approx(
        {"db": figures.REQUESTS, "users@edge-1": figures.USERS}, rel=0.02
    )
    assert workload["calls_per_second"] == pytest.approx({"db": figures.REQUESTS}, rel=0.02)
    if dialect != "opentelemetry":
        sent = figures.BYTES_SENT + figures.BYTES_RECEIVED
        wanted = {"db": sent, "users@edge-1": figures.USER_BYTES}
        assert workload["bytes_per_second"] == pytest.approx(wanted, rel=0.02)
    else:
        assert workload["bytes_per_second"] == {}
    assert workload["cpu_millicores"] == pytest.approx(250, rel=0.05)
    assert workload["memory_bytes"] == pytest.approx(figures.WEB_MEMORY, rel=0.01)
    for (one, other), milliseconds in figures.LATENCY_MS.items():
        for origin, target in ((one, other), (other, one)):
            shown = nodes[origin]["latency_ms"]  # type: ignore[index]
            assert shown[target] == pytest.approx(milliseconds, rel=0.02)
    way = nodes["edge-2"]["round_trips"]["cloud-1.example"]  # type: ignore[index]
    assert (way["ms"], way["source"]) == (pytest.approx(55.0, rel=0.02), "measured")
    for name, cores in figures.IDLE_CORES.items():
        shown = nodes[name]["available_cpu_millicores"]  # type: ignore[index]
        assert shown == pytest.approx(min(4.0, cores) * 1000, rel=0.05)
    assert table(on_workload(cluster, "db"), keys.REQUESTS) == pytest.approx({"web": figures.REQUESTS}, rel=0.06)
    assert keys.CALLS not in on_workload(cluster, "db")
    assert conditions(cluster, GROUP)["DataFresh"]["status"] == "True"


def wait_written(cluster: Cluster, monitor: Program) -> None:
    wait_until(
        lambda: (
            table(on_node(cluster, "edge-1"), keys.LATENCIES).keys() == {"edge-2", "cloud-1.example"}
            and keys.TRAFFIC in on_workload(cluster, "web")
        ),
        timeout=120,
        what="written figures",
        child=monitor.child,
    )


def plant_all(cluster: Cluster, source: Planted) -> None:
    figures.plant_nodes(source)
    figures.plant_usage(source, cluster)
    figures.plant_traffic("envoy", source, cluster)


def test_when_the_source_stops_values_age_and_go_from_replica_sets_too(
    cluster: Cluster, source: Planted, monitor: Program
) -> None:
    plant_all(cluster, source)
    monitored(cluster)
    wait_written(cluster, monitor)
    first = on_node(cluster, "edge-1")[keys.MEASURED_AT]
    source.answer(500)
    stopped = time.monotonic()

    def gone() -> bool:
        sets = cluster.list("/apis/apps/v1/namespaces/shop/replicasets")
        copies = [
            key
            for one in sets
            for key in one["metadata"].get("annotations", {})
            if key in (keys.TRAFFIC, keys.MEASURED_AT)
        ]
        return not on_node(cluster, "edge-1") and not on_workload(cluster, "web") and not copies

    wait_until(gone, timeout=180, what="no figures", child=monitor.child)
    assert time.monotonic() - stopped >= 15, "the last good values were thrown away at once"
    assert first
    wait_until(
        lambda: conditions(cluster, CLUSTER).get("DataFresh", {}).get("status") == "False", timeout=60, what="condition"
    )
    assert conditions(cluster, CLUSTER)["PrometheusReachable"]["status"] == "True"


def test_a_restart_a_500_a_nan_a_missing_node_changed_labels_and_silence_do_no_harm(
    cluster: Cluster, source: Planted, prometheus: PrometheusServer, front: Front, monitor: Program
) -> None:
    plant_all(cluster, source)
    monitored(cluster)
    wait_written(cluster, monitor)
    good = {"edge-2": 4.0, "cloud-1.example": 40.0}

    def harmless() -> None:
        there = on_node(cluster, "edge-1")
        assert table(there, keys.LATENCIES) == pytest.approx(good, rel=0.06)
        assert keys.available_cpu(there) == pytest.approx(1500, rel=0.08)
        assert "NaN" not in json.dumps(there)
        assert table(on_workload(cluster, "web"), keys.REQUESTS)["db"] == pytest.approx(figures.REQUESTS, rel=0.1)

    def for_a_while(seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            harmless()
            time.sleep(0.5)

    def recovered() -> None:
        wait_until(
            lambda: (
                conditions(cluster, CLUSTER)["Ready"]["status"] == "True"
                and conditions(cluster, GROUP)["Ready"]["status"] == "True"
            ),
            timeout=120,
            what="recovery",
            child=monitor.child,
        )
        harmless()

    recovered()
    memory = {"node": "edge-2", "instance": "10.9.9.9:9100"}
    source.gauge("node_memory_MemAvailable_bytes", float("nan"), **memory)
    source.counter("node_cpu_seconds_total", 1.0, mode="idle", cpu="0", node="no-such-node")
    source.counter("ecotone_probe_rtt_seconds_count", 1.0, origin="edge-1", target="no-such-node")
    source.counter("ecotone_probe_rtt_seconds_sum", 1.0, origin="edge-1", target="no-such-node")
    for_a_while(4)
    source.gauge("node_memory_MemAvailable_bytes", figures.AVAILABLE_BYTES, **memory)
    recovered()
    # The exporter of edge-1 moves: the same node, other labels, counters that begin anew.
    source.drop('instance="10.9.9.9:9100",mode="idle",node="edge-1"')
    for cpu in ("0", "1"):
        source.counter("node_cpu_seconds_total", 0.75, mode="idle", cpu=cpu, node="edge-1", instance="10.8.8.8:9100")
    for_a_while(4)
    recovered()
    prometheus.stop()
    for_a_while(3)
    wait_until(
        lambda: conditions(cluster, CLUSTER)["PrometheusReachable"]["status"] == "False", timeout=60, what="condition"
    )
    prometheus.restart()
    for_a_while(3)
    recovered()
    with front.failing(500):
        wait_until(lambda: front.failed > 0, timeout=60, what="question that fails", child=monitor.child)
        for_a_while(3)
    recovered()
    with front.silent():
        wait_until(lambda: front.unanswered > 0, timeout=60, what="question without an answer", child=monitor.child)
        for_a_while(10)
    recovered()
    source.answer(500)
    for_a_while(10)
    source.answer(200)
    recovered()
