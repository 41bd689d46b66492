"""Output proxies: what stands in the cluster for a service outside it.

The scheduler can only bring a service close to something that has a place in the cluster. An output proxy gives an
external database that place: an Envoy that forwards TCP to it, on a node near it, under its name. Envoy takes its whole
configuration as an argument, so a proxy needs no ConfigMap.
"""

from __future__ import annotations

import json
from typing import Any

from ecotone.manifests.keys import TIER
from ecotone.tosca.application import Service

_UNPRIVILEGED = 1024
_SHIFT = 10_000
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - inside the proxy's own pod, which the Service exposes


def listen_port(service: Service) -> int:
    """Where the proxy listens: the service's own port, or one an unprivileged process may open."""
    port = int(service.endpoint["port"])
    return port if port >= _UNPRIVILEGED else port + _SHIFT


def envoy_configuration(service: Service) -> dict[str, Any]:
    """A static Envoy bootstrap: one listener, one cluster, TCP in between."""
    address = {"socket_address": {"address": service.endpoint["host"], "port_value": service.endpoint["port"]}}
    forward = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy",
        "stat_prefix": service.name,
        "cluster": service.name,
    }
    return {
        "static_resources": {
            "listeners": [
                {
                    "name": service.name,
                    "address": {"socket_address": {"address": _EVERYWHERE, "port_value": listen_port(service)}},
                    "filter_chains": [
                        {"filters": [{"name": "envoy.filters.network.tcp_proxy", "typed_config": forward}]}
                    ],
                }
            ],
            "clusters": [
                {
                    "name": service.name,
                    "type": "STRICT_DNS",
                    "connect_timeout": "5s",
                    "load_assignment": {
                        "cluster_name": service.name,
                        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address}}]}],
                    },
                }
            ],
        }
    }


def proxy_container(service: Service) -> dict[str, Any]:
    configuration = json.dumps(envoy_configuration(service), separators=(",", ":"))
    return {
        "name": service.name,
        "image": service.settings["image"],
        "args": ["--config-yaml", configuration, "--concurrency", "1"],
        "ports": [{"containerPort": listen_port(service), "protocol": "TCP"}],
        "readinessProbe": {"tcpSocket": {"port": listen_port(service)}},
    }


def proxy_affinity(service: Service) -> dict[str, Any]:
    """Near the external service: on the nodes the template names, else in the cloud where there is one."""
    near: dict[str, str] = service.settings.get("near") or {}
    if near:
        expressions = [_is_in(key, value) for key, value in sorted(near.items())]
        required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
        return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    preferred = [{"weight": 100, "preference": {"matchExpressions": [_is_in(TIER, "cloud")]}}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def _is_in(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}
