"""A scenario's application as Kubernetes objects that play it for real.

Every service becomes a Deployment of the workload program with an Envoy sidecar and a Service; services outside the cluster
become output proxies' stand-ins on the node they are pinned to. What a policy may know in advance (index, group, static
affinity) is written with the same keys as `tosca compile` writes, everything else must be measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ecotone.sim.scenario.schema import Application, Call, Endpoint, Scenario, Service
from ecotone.testbed.application.envoy import STATS_PORT, peer_ports, sidecar
from ecotone.testbed.images.contents import ENVOY_IMAGE, WORKLOAD_IMAGE

PORT = 8080
SIDECAR_MEMORY = 64 * 2**20
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def application_objects(scenario: Scenario, *, namespace: str, scheduler: str) -> list[dict[str, Any]]:
    """Everything of the application, ready to be applied."""
    application = scenario.application
    objects: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}]
    for service in application.services:
        peers = peers_of(service)
        objects.append(_config(service, application, peers, namespace))
        objects.append(_service(service, namespace))
        objects.append(_deployment(service, application, namespace, scheduler))
    return objects


def peers_of(service: Service) -> list[str]:
    return sorted({call.service for endpoint in service.endpoints.values() for call in _calls(endpoint)})


def _calls(endpoint: Endpoint) -> list[Call]:
    return [call for stage in endpoint.stages for call in stage]


def _labels(service: Service, application: Application) -> dict[str, str]:
    labels = {"app": service.name, "app-group": service.group or application.name}
    if service.index is not None:
        labels["ecotone.dev/index"] = str(service.index)
    if service.role is not None:
        labels["ecotone.dev/role"] = service.role
    return labels


def _config(service: Service, application: Application, peers: Sequence[str], namespace: str) -> dict[str, Any]:
    """The role in the application and the sidecar's configuration, each as a file."""
    ports = peer_ports(peers)
    role = {
        "services": {service.name: {"startupSeconds": service.startup, "endpoints": _endpoints(service)}},
        "peers": {peer: f"127.0.0.1:{ports[peer]}" for peer in peers},
    }
    addresses = {peer: f"{peer}.{namespace}.svc.cluster.local:{PORT}" for peer in peers}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": service.name, "namespace": namespace, "labels": _labels(service, application)},
        "data": {"role.json": json.dumps(role), "envoy.json": json.dumps(sidecar(addresses))},
    }


def _endpoints(service: Service) -> dict[str, Any]:
    return {
        name: {
            "cpuSeconds": endpoint.cpu_mean,
            "constant": endpoint.cpu_constant,
            "stages": [[_call(call) for call in stage] for stage in endpoint.stages],
        }
        for name, endpoint in service.endpoints.items()
    }


def _call(call: Call) -> dict[str, Any]:
    return {
        "service": call.service,
        "endpoint": call.endpoint,
        "newConnection": call.new_connection,
        "probability": call.probability,
        "count": call.count,
        "requestBytes": int(call.request),
        "responseBytes": int(call.response),
        "detached": call.detached,
    }


def _service(service: Service, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service.name, "namespace": namespace},
        "spec": {"selector": {"app": service.name}, "ports": [{"port": PORT, "targetPort": PORT}]},
    }


def _deployment(service: Service, application: Application, namespace: str, scheduler: str) -> dict[str, Any]:
    labels = _labels(service, application)
    pod: dict[str, Any] = {
        "schedulerName": scheduler,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": int(service.grace),
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_player(service), _envoy()],
        "volumes": [{"name": "config", "configMap": {"name": service.name}}],
    }
    if service.pinned is not None:
        pod["nodeSelector"] = {"kubernetes.io/hostname": service.pinned}
    if service.prefer_tier is not None:
        pod["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_preference(service)]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": service.name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": service.replicas,
            "selector": {"matchLabels": {"app": service.name}},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": labels, "annotations": _template_annotations()},
                "spec": pod,
            },
        },
    }


def _template_annotations() -> dict[str, str]:
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(STATS_PORT),
        "prometheus.io/path": "/stats/prometheus",
    }


def _preference(service: Service) -> dict[str, Any]:
    term = {"key": "ecotone.dev/tier", "operator": "In", "values": [service.prefer_tier]}
    return {"weight": service.prefer_weight, "preference": {"matchExpressions": [term]}}


def _player(service: Service) -> dict[str, Any]:
    requests = {"cpu": f"{service.cpu_request or 0}m", "memory": str(service.memory_request or 16 * 2**20)}
    return {
        "name": "service",
        "image": WORKLOAD_IMAGE,
        "imagePullPolicy": "Never",
        "env": [{"name": "SERVICE", "value": service.name}, {"name": "CONFIG", "value": "/config/role.json"}],
        "ports": [{"containerPort": PORT}],
        "resources": {"requests": requests},
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": PORT}, "periodSeconds": 1},
        "securityContext": _RESTRICTED,
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }


def _envoy() -> dict[str, Any]:
    return {
        "name": "envoy",
        "image": ENVOY_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["-c", "/config/envoy.json", "--concurrency", "1", "--disable-hot-restart", "-l", "error"],
        "ports": [{"containerPort": STATS_PORT, "name": "stats"}],
        "resources": {"requests": {"memory": str(SIDECAR_MEMORY)}},
        "readinessProbe": {
            "httpGet": {"path": "/stats/prometheus?filter=server.live", "port": STATS_PORT},
            "periodSeconds": 2,
        },
        "securityContext": _RESTRICTED,
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }
