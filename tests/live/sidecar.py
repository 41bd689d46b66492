"""A real Envoy as the sidecar of one service: an inbound listener, and one outbound listener per service it calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from control_plane.processes import Child, free_ports
from real_programs import tool

_HTTP = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
_ROUTER = "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"


class Sidecar:
    def __init__(self, name: str, calls: list[str]) -> None:
        self.name = name
        self.admin, self.inbound, *rest = free_ports(2 + len(calls))
        self.outbound = dict(zip(calls, rest, strict=True))
        self.child: Child | None = None

    def start(self, directory: Path, *, own_port: int, inbound: dict[str, int]) -> None:
        """``inbound``: per service that is called the inbound port of its sidecar."""
        listeners = [
            _listener(self.inbound, self.name),
            *(_listener(port, peer) for peer, port in self.outbound.items()),
        ]
        clusters = [_cluster(self.name, own_port), *(_cluster(peer, inbound[peer]) for peer in self.outbound)]
        config = {
            "admin": {"address": _address(self.admin)},
            "static_resources": {"listeners": listeners, "clusters": clusters},
        }
        file = directory / f"envoy-{self.name}.yaml"
        file.write_text(yaml.safe_dump(config))
        command: list[str | Path] = [
            tool("envoy"),
            "-c",
            file,
            "--concurrency",
            "1",
            "--disable-hot-restart",
            "-l",
            "warning",
        ]
        self.child = Child(f"envoy-{self.name}", command, log=directory / f"envoy-{self.name}.log")

    def stop(self) -> None:
        if self.child is not None:
            self.child.stop(grace=3)


def _address(port: int) -> dict[str, Any]:
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


def _listener(port: int, cluster: str) -> dict[str, Any]:
    route = {"match": {"prefix": "/"}, "route": {"cluster": cluster}}
    manager = {
        "@type": _HTTP,
        "stat_prefix": f"to_{cluster}",
        "route_config": {"virtual_hosts": [{"name": cluster, "domains": ["*"], "routes": [route]}]},
        "http_filters": [{"name": "envoy.filters.http.router", "typed_config": {"@type": _ROUTER}}],
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"address": _address(port), "filter_chains": [chain]}


def _cluster(name: str, port: int) -> dict[str, Any]:
    endpoint = {"endpoint": {"address": _address(port)}}
    return {
        "name": name,
        "type": "STATIC",
        "connect_timeout": "2s",
        "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [endpoint]}]},
    }
