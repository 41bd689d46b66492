"""Envoy's configuration as a sidecar of a workload: one local listener per peer, counters by peer.

The sidecar sees every request a workload sends, and its clusters are named after the workloads they lead to: that is all the
`envoy` dialect of the monitor needs. Statistics are served on a port of their own that passes on nothing but
`/stats/prometheus`; the administration interface itself listens on loopback only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

ADMIN_PORT = 15000
STATS_PORT = 15090
FIRST_PORT = 15100
CONNECT_TIMEOUT = "5s"
ROUTE_TIMEOUT = "60s"
# What the monitor's dialect reads, and what readiness is asked by: writing out hundreds of other counters at every scrape
# would cost a small node more than its requests do.
COUNTED = ("upstream_cx_tx_bytes_total", "upstream_cx_rx_bytes_total", "upstream_rq_total", "server.live")
_TYPE = "type.googleapis.com/envoy"


def peer_ports(peers: Sequence[str]) -> dict[str, int]:
    """The local port on which the sidecar forwards to each peer."""
    return {peer: FIRST_PORT + number for number, peer in enumerate(sorted(peers))}


def sidecar(peers: Mapping[str, str], *, streams: Collection[str] = ()) -> dict[str, Any]:
    """The bootstrap configuration; `peers` maps a workload's name to its Service's `host:port`.

    Those in `streams` do not speak HTTP: their bytes are passed on and counted as they are.
    """
    ports = peer_ports(list(peers))
    listeners = [
        _stream(peer, ports[peer])
        if peer in streams
        else _listener(peer, "127.0.0.1", ports[peer], [_route("/", peer)])
        for peer in sorted(peers)
    ]
    listeners.append(_listener("stats", "0.0.0.0", STATS_PORT, [_route("/stats/prometheus", "admin")]))  # noqa: S104
    clusters = [_cluster(peer, *_split(address)) for peer, address in sorted(peers.items())]
    clusters.append(_cluster("admin", "127.0.0.1", ADMIN_PORT))
    return {
        "admin": {"address": _address("127.0.0.1", ADMIN_PORT)},
        "static_resources": {"listeners": listeners, "clusters": clusters},
        "stats_config": {"stats_matcher": {"inclusion_list": {"patterns": [{"suffix": each} for each in COUNTED]}}},
    }


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _route(prefix: str, cluster: str) -> dict[str, Any]:
    return {"match": {"prefix": prefix}, "route": {"cluster": cluster, "timeout": ROUTE_TIMEOUT}}


def _listener(name: str, host: str, port: int, routes: list[dict[str, Any]]) -> dict[str, Any]:
    manager = {
        "@type": f"{_TYPE}.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "route_config": {"virtual_hosts": [{"name": name, "domains": ["*"], "routes": routes}]},
        "http_filters": [
            {
                "name": "envoy.filters.http.router",
                "typed_config": {"@type": f"{_TYPE}.extensions.filters.http.router.v3.Router"},
            }
        ],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"name": name, "address": _address(host, port), "filter_chains": [chain]}


def _stream(name: str, port: int) -> dict[str, Any]:
    proxy = {
        "@type": f"{_TYPE}.extensions.filters.network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": name,
        "cluster": name,
    }
    chain = {"filters": [{"name": "envoy.filters.network.tcp_proxy", "typed_config": proxy}]}
    return {"name": name, "address": _address("127.0.0.1", port), "filter_chains": [chain]}


def _cluster(name: str, host: str, port: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": "STRICT_DNS",
        "dns_lookup_family": "V4_ONLY",
        "connect_timeout": CONNECT_TIMEOUT,
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{"lb_endpoints": [{"endpoint": {"address": _address(host, port)}}]}],
        },
    }
