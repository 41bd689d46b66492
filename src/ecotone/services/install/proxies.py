"""Input and output proxies: where an application's users and databases have a place in the cluster.

An application follows its users only if they are somewhere. The input proxy is an Envoy on every node that receives those
who enter there and forwards them to the front-end, near first; the monitor reads its counters as `users@NODE`. An output
proxy stands in for one external service, on a node near it, under its name (the same that `ecotone tosca compile` prints).

Near first is Kubernetes' own: the proxy forwards to a Service of its own before the front-end's pods, with
`trafficDistribution: PreferSameNode`. Clusters are named after the workload they lead to, and so are their counters.
"""

from __future__ import annotations

import json
from typing import Any

from ecotone.manifests.keys import APP, APP_GROUP, ROLE
from ecotone.model.errors import InputError
from ecotone.model.quantity import whole
from ecotone.services.install.network import network_policy
from ecotone.services.install.workloads import (
    SECURE_CONTAINER,
    budget,
    daemon_set,
    pod,
    resources,
    scraped,
)

ENVOY = "envoyproxy/envoy:v1.40-latest"
LISTEN_PORT = 8080
ADMIN_PORT = 15000
STATS_PORT = 15090
INPUT_ROLE = "input-proxy"
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - inside the proxy's own pod
_TYPE = "type.googleapis.com/envoy.extensions.filters"


def input_proxy(
    front_end: str,
    *,
    image: str = ENVOY,
    host_port: int = 8080,
    group: str | None = None,
    priority: str | None = None,
) -> list[dict[str, Any]]:
    """`front_end` is NAMESPACE/WORKLOAD:PORT, PORT being the one its pods listen on. The proxy runs in the application's
    namespace, where the installation's own priority classes may not be used: `priority` names another.
    """
    namespace, workload, port = _front_end(front_end)
    name, near = f"{workload}-input", f"{workload}-near"
    labels = {APP: name, ROLE: INPUT_ROLE, **({APP_GROUP: group} if group else {})}
    configuration = json.dumps(
        envoy_configuration(workload, f"{near}.{namespace}.svc", port), separators=(",", ":"), sort_keys=True
    )
    envoy = {
        "name": "envoy",
        "image": image,
        "args": ["--config-yaml", configuration, "--concurrency", "1"],
        "ports": [
            {"name": "users", "containerPort": LISTEN_PORT, "hostPort": host_port},
            {"name": "stats", "containerPort": STATS_PORT},
        ],
        "livenessProbe": {"tcpSocket": {"port": LISTEN_PORT}, "initialDelaySeconds": 5},
        "readinessProbe": {"httpGet": {"path": "/stats/prometheus", "port": STATS_PORT}},
        "resources": resources(cpu="50m", memory="64Mi", memory_limit="256Mi"),
        "securityContext": SECURE_CONTAINER,
    }
    proxy = daemon_set(name, pod([envoy], account=None, priority=priority), namespace=namespace)
    template = proxy["spec"]["template"]["metadata"]
    template["labels"] |= labels
    template["annotations"] = scraped(STATS_PORT, "/stats/prometheus")
    policy = network_policy(name, namespace=namespace, port=STATS_PORT, neighbours=True)
    policy["spec"]["ingress"].append({"ports": [{"protocol": "TCP", "port": LISTEN_PORT}]})
    return [
        proxy,
        _near_service(near, workload, namespace=namespace, port=port),
        budget(name, namespace=namespace),
        policy,
    ]


def _front_end(text: str) -> tuple[str, str, int]:
    path, _, port = text.rpartition(":")
    namespace, slash, workload = path.partition("/")
    number = whole(port, most=65_535)
    if not slash or not namespace or not workload or not number:
        raise InputError(
            f"--front-end {text}: NAMESPACE/WORKLOAD:PORT is expected", hint="for example default/front-end:8079"
        )
    return namespace, workload, number


def _near_service(name: str, workload: str, *, namespace: str, port: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app.kubernetes.io/part-of": "ecotone"}},
        "spec": {
            "selector": {APP: workload},
            "trafficDistribution": "PreferSameNode",
            "ports": [{"name": "http", "port": port, "targetPort": port}],
        },
    }


def envoy_configuration(workload: str, host: str, port: int) -> dict[str, Any]:
    """Users in, the workload out; counters on a port that passes on nothing else of the administration interface."""
    return {
        "admin": {"address": _address("127.0.0.1", ADMIN_PORT)},
        "static_resources": {
            "listeners": [
                _listener("users", LISTEN_PORT, prefix="/", cluster=workload),
                _listener("stats", STATS_PORT, prefix="/stats/prometheus", cluster="admin"),
            ],
            "clusters": [_cluster(workload, host, port), _cluster("admin", "127.0.0.1", ADMIN_PORT)],
        },
    }


def _address(host: str, port: int) -> dict[str, Any]:
    return {"socket_address": {"address": host, "port_value": port}}


def _listener(name: str, port: int, *, prefix: str, cluster: str) -> dict[str, Any]:
    route = {"match": {"prefix": prefix}, "route": {"cluster": cluster, "timeout": "60s"}}
    router = {"name": "envoy.filters.http.router", "typed_config": {"@type": f"{_TYPE}.http.router.v3.Router"}}
    manager = {
        "@type": f"{_TYPE}.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "route_config": {"virtual_hosts": [{"name": name, "domains": ["*"], "routes": [route]}]},
        "http_filters": [router],
        "stream_idle_timeout": "300s",
        "request_headers_timeout": "10s",
    }
    chain = {"filters": [{"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"name": name, "address": _address(_EVERYWHERE, port), "filter_chains": [chain]}


def _cluster(name: str, host: str, port: int) -> dict[str, Any]:
    endpoint = {"lb_endpoints": [{"endpoint": {"address": _address(host, port)}}]}
    return {
        "name": name,
        "alt_stat_name": name,
        "type": "STRICT_DNS",
        "connect_timeout": "5s",
        "load_assignment": {"cluster_name": name, "endpoints": [endpoint]},
    }


def output_proxy(
    external: str, *, namespace: str = "default", group: str | None = None, priority: str | None = None
) -> list[dict[str, Any]]:
    """`external` is NAME=HOST:PORT; compiled as the template's ExternalService of that name."""
    from ecotone.tosca import compile_application, graph_of, parse_application

    name, equals, address = external.partition("=")
    host, colon, port = address.rpartition(":")
    number = whole(port, most=65_535)
    if not (name and equals and host and colon and number):
        raise InputError(
            f"--external {external}: NAME=HOST:PORT is expected", hint="for example orders-db=db.example:5432"
        )
    node = {
        "type": "ExternalService",
        "capabilities": {"endpoint": {"properties": {"host": host, "port": number}}},
    }
    template = {
        "tosca_definitions_version": "tosca_simple_yaml_1_3",
        "imports": [{"file": "ecotone/profile.yaml"}],
        "topology_template": {"node_templates": {name: node}},
    }
    application = parse_application(json.dumps(template), file=f"--external {external}", name=group or name)
    objects = compile_application(application, graph_of(application), namespace=namespace)
    for one in objects:
        if one["kind"] == "Deployment":
            _harden(one["spec"]["template"]["spec"], priority=priority)
    # Whoever reaches the proxy reaches what is behind it: the pods of its own namespace do, others are asked for.
    policy = network_policy(name, namespace=namespace, port=number, neighbours=True)
    policy["spec"]["podSelector"] = objects[0]["spec"]["selector"]
    return [*objects, policy, budget_of(objects[0], namespace=namespace)]


def _harden(spec: dict[str, Any], *, priority: str | None) -> None:
    (main,) = spec["containers"]
    main.setdefault("resources", resources(cpu="50m", memory="64Mi", memory_limit="256Mi"))
    main["livenessProbe"] = {**main["readinessProbe"], "initialDelaySeconds": 5}
    shared = pod([main | {"securityContext": SECURE_CONTAINER}], account=None, priority=priority)
    del shared["schedulerName"]
    spec |= shared


def budget_of(workload: dict[str, Any], *, namespace: str) -> dict[str, Any]:
    made = budget(workload["metadata"]["name"], namespace=namespace)
    made["spec"]["selector"] = workload["spec"]["selector"]
    return made
