"""What is planted for the shop, dialect by dialect: the same figures in three ways of counting."""

from __future__ import annotations

from control_plane.cluster import Cluster
from live.planted import Planted
from live.shop import pods_of

LATENCY_MS = {("edge-1", "edge-2"): 4.0, ("edge-1", "cloud-1.example"): 40.0, ("edge-2", "cloud-1.example"): 55.0}
IDLE_CORES = {"edge-1": 1.5, "edge-2": 3.25, "cloud-1.example": 9.0}
AVAILABLE_BYTES = 3 << 30
WEB_CPU, WEB_MEMORY = 0.25, 100 << 20
REQUESTS = 12.0
"""From web to db, a second."""
BYTES_SENT, BYTES_RECEIVED = 3000.0, 9000.0
USERS = 5.0
USER_BYTES = 700.0


def plant_nodes(source: Planted, *, matched_by: str = "node") -> None:
    for name, cores in IDLE_CORES.items():
        labels = (
            {"instance": f"{name}:9100"} if matched_by == "instance" else {"node": name, "instance": "10.9.9.9:9100"}
        )
        for cpu in ("0", "1"):
            source.counter("node_cpu_seconds_total", cores / 2, mode="idle", cpu=cpu, **labels)
            source.counter("node_cpu_seconds_total", 0.3, mode="user", cpu=cpu, **labels)
        source.gauge("node_memory_MemAvailable_bytes", AVAILABLE_BYTES, **labels)
    for (one, other), milliseconds in LATENCY_MS.items():
        for origin, target in ((one, other), (other, one)):
            source.counter("ecotone_probe_rtt_seconds_sum", 2 * milliseconds / 1000, origin=origin, target=target)
            source.counter("ecotone_probe_rtt_seconds_count", 2.0, origin=origin, target=target)


def plant_usage(source: Planted, cluster: Cluster) -> None:
    for workload in ("web", "db"):
        for pod in pods_of(cluster, workload):
            for container, share in (("main", 0.8), ("sidecar", 0.2), ("POD", 7.0), ("", 8.0)):
                labels = {"namespace": "shop", "pod": pod, "container": container}
                source.counter("container_cpu_usage_seconds_total", WEB_CPU * share, **labels)
                source.gauge("container_memory_working_set_bytes", WEB_MEMORY * share, **labels)


def plant_traffic(dialect: str, source: Planted, cluster: Cluster) -> None:
    {"istio": _istio, "envoy": _envoy, "opentelemetry": _opentelemetry}[dialect](source, cluster)


def _istio(source: Planted, cluster: Cluster) -> None:
    ends = {
        "source_workload": "web",
        "source_workload_namespace": "shop",
        "destination_workload": "db",
        "destination_workload_namespace": "shop",
    }
    for reporter in ("destination", "source"):
        common = {**ends, "reporter": reporter}
        source.counter("istio_requests_total", REQUESTS, **common)
        source.counter("istio_request_bytes_sum", BYTES_SENT, **common)
        source.counter("istio_response_bytes_sum", BYTES_RECEIVED - 1000, **common)
        source.counter("istio_tcp_sent_bytes_total", 600, **common)
        source.counter("istio_tcp_received_bytes_total", 400, **common)
    entry = {**ends, "source_workload": "entry", "destination_workload": "web", "reporter": "source"}
    for pod, node in pods_of(cluster, "entry").items():
        if node == "edge-1":
            source.counter("istio_requests_total", USERS, namespace="shop", pod=pod, **entry)
            source.counter("istio_request_bytes_sum", USER_BYTES, namespace="shop", pod=pod, **entry)
            source.counter("istio_response_bytes_sum", 0, namespace="shop", pod=pod, **entry)


def _envoy(source: Planted, cluster: Cluster) -> None:
    callers = pods_of(cluster, "web")
    for pod in callers:
        common = {"namespace": "shop", "pod": pod, "envoy_cluster_name": "db"}
        source.counter("envoy_cluster_upstream_rq_total", REQUESTS / len(callers), **common)
        source.counter("envoy_cluster_upstream_cx_tx_bytes_total", BYTES_SENT / len(callers), **common)
        source.counter("envoy_cluster_upstream_cx_rx_bytes_total", BYTES_RECEIVED / len(callers), **common)
        inbound = {**common, "envoy_cluster_name": "web"}
        source.counter("envoy_cluster_upstream_rq_total", 1000, **inbound)
    for pod, node in pods_of(cluster, "entry").items():
        if node == "edge-1":
            common = {"namespace": "shop", "pod": pod, "envoy_cluster_name": "web"}
            source.counter("envoy_cluster_upstream_rq_total", USERS, **common)
            source.counter("envoy_cluster_upstream_cx_tx_bytes_total", USER_BYTES, **common)


def _opentelemetry(source: Planted, _: Cluster) -> None:
    source.counter("traces_service_graph_request_total", REQUESTS, client="web", server="db")
    source.counter(
        "traces_service_graph_request_total", USERS, client="entry", server="web", client_k8s_node_name="edge-1"
    )
