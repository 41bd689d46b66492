"""A scenario's application as Kubernetes objects that play it for real.

Every service becomes a Deployment of the workload program with an Envoy sidecar and a Service; services outside the cluster
become output proxies' stand-ins on the node they are pinned to; a message broker is a real one. What a policy may know in
advance is what the simulator tells it (index, group, and of channels their priority, who waits, by when) and is written with
the keys that `tosca compile` writes; everything else must be measured.
"""

from __future__ import annotations

import json
from typing import Any

from ecotone.manifests import keys
from ecotone.manifests.writing.snapshot import workload_notes
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.sim.control.observation import DISTRIBUTIONS, deadlines, static_affinity, synchronous_channels
from ecotone.sim.scenario.schema import Application, Call, Scenario, Service
from ecotone.testbed.application.envoy import STATS_PORT, peer_ports, sidecar
from ecotone.testbed.application.messaging import brokers, brokers_of, calls_of, routes
from ecotone.testbed.images.broker import AMQP_PORT, BROKER_IMAGE, DATA
from ecotone.testbed.images.contents import ENVOY_IMAGE, WORKLOAD_IMAGE

PORT = 8080
SIDECAR_MEMORY = 64 * 2**20
START_SECONDS = 120
_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def application_objects(scenario: Scenario, *, namespace: str, scheduler: str) -> list[dict[str, Any]]:
    """Everything of the application, ready to be applied."""
    application = scenario.application
    found = brokers(application)
    channels = _channels(application, namespace)
    objects: list[dict[str, Any]] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}]
    for service in application.services:
        broker = service.name in found
        if not broker:
            objects.append(_config(service, application, found, namespace))
        objects.append(_service(service, namespace, AMQP_PORT if broker else PORT))
        deployment = _deployment(service, application, namespace, scheduler)
        if scenario.qos is not None and service.name in scenario.qos.targets:
            share = f"{scenario.qos.targets[service.name]:g}"
            deployment["metadata"]["annotations"] = {keys.EDGE_SHARE: share}
        deployment["spec"]["template"]["spec"] |= _broker_pod(service) if broker else _player_pod(service)
        known = _known_beforehand(service, channels[service.name])
        deployment["spec"]["template"]["metadata"]["annotations"] = known if broker else known | _scraped()
        objects.append(deployment)
    return objects


def peers_of(service: Service) -> list[str]:
    return sorted({call.service for call in calls_of(service)})


def _labels(service: Service, application: Application) -> dict[str, str]:
    labels = {"app": service.name, "app-group": service.group or application.name}
    if service.index is not None:
        labels["ecotone.dev/index"] = str(service.index)
    if service.role is not None:
        labels["ecotone.dev/role"] = service.role
    return labels


def _config(service: Service, application: Application, found: dict[str, Service], namespace: str) -> dict[str, Any]:
    """The role in the application and the sidecar's configuration, each as a file; `found` are the brokers."""
    streams = brokers_of(service, found)
    ports = peer_ports(sorted({*peers_of(service), *streams}))
    local = {peer: f"127.0.0.1:{port}" for peer, port in ports.items()}
    role = {
        "services": {service.name: {"startupSeconds": service.startup, "endpoints": _endpoints(service)}},
        "peers": {peer: address for peer, address in local.items() if peer not in streams},
        "brokers": {name: {"address": local[name], "routes": routes(found[name])} for name in streams},
    }
    addresses = {
        peer: f"{peer}.{namespace}.svc.cluster.local:{AMQP_PORT if peer in streams else PORT}" for peer in ports
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": service.name, "namespace": namespace, "labels": _labels(service, application)},
        "data": {"role.json": json.dumps(role), "envoy.json": json.dumps(sidecar(addresses, streams=streams))},
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


def _service(service: Service, namespace: str, port: int) -> dict[str, Any]:
    distribution = DISTRIBUTIONS[service.balance]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": service.name, "namespace": namespace},
        "spec": {
            "selector": {"app": service.name},
            "ports": [{"port": port, "targetPort": port}],
            **({} if distribution is None else {"trafficDistribution": distribution}),
        },
    }


def _deployment(service: Service, application: Application, namespace: str, scheduler: str) -> dict[str, Any]:
    """Everything but what runs in its pods."""
    labels = _labels(service, application)
    pod: dict[str, Any] = {
        "schedulerName": scheduler,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": int(service.grace),
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    if service.tolerates:
        pod["tolerations"] = [{"key": key, "operator": "Exists"} for key in service.tolerates]
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
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _channels(application: Application, namespace: str) -> dict[str, Workload]:
    """What is declared of each service's channels."""
    affinity, synchronous = static_affinity(application), synchronous_channels(application)
    hard, soft = deadlines(application, soft=False), deadlines(application, soft=True)
    return {
        service.name: Workload(
            WorkloadKey(namespace, service.name),
            affinity=affinity.get(service.name),
            synchronous=synchronous.get(service.name, {}),
            deadlines=hard.get(service.name, {}),
            soft_deadlines=soft.get(service.name, {}),
        )
        for service in application.services
    }


def _known_beforehand(service: Service, channels: Workload) -> dict[str, str]:
    """What the application's owner writes: its channels, and how far it may be from its queue."""
    notes = workload_notes(channels)
    if service.max_latency is not None:
        notes[keys.MAX_LATENCY] = f"{1000 * service.max_latency:g}ms"
    return notes


def _scraped() -> dict[str, str]:
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(STATS_PORT),
        "prometheus.io/path": "/stats/prometheus",
    }


def _preference(service: Service) -> dict[str, Any]:
    term = {"key": "ecotone.dev/tier", "operator": "In", "values": [service.prefer_tier]}
    return {"weight": service.prefer_weight, "preference": {"matchExpressions": [term]}}


def _player_pod(service: Service) -> dict[str, Any]:
    volumes = [{"name": "config", "configMap": {"name": service.name}}]
    return {"initContainers": [_envoy()], "containers": [_player(service)], "volumes": volumes}


def _broker_pod(service: Service) -> dict[str, Any]:
    return {"containers": [_broker(service)], "volumes": [{"name": "data", "emptyDir": {}}]}


def _player(service: Service) -> dict[str, Any]:
    return {
        "name": "service",
        "image": WORKLOAD_IMAGE,
        "imagePullPolicy": "Never",
        "env": [{"name": "SERVICE", "value": service.name}, {"name": "CONFIG", "value": "/config/role.json"}],
        "ports": [{"containerPort": PORT}],
        "resources": {"requests": _requests(service)},
        **_probes({"httpGet": {"path": "/healthz", "port": PORT}}),
        "securityContext": _RESTRICTED,
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }


def _probes(asked: dict[str, Any]) -> dict[str, Any]:
    """Ready as soon as it answers; from then on asked as seldom as Kubernetes does by itself.

    A core of the scenario is a small part of a real one, and what is asked every second would keep a node busy with answering.
    """
    return {
        "startupProbe": {**asked, "periodSeconds": 1, "failureThreshold": START_SECONDS},
        "readinessProbe": {**asked, "periodSeconds": 10},
    }


def _requests(service: Service) -> dict[str, str]:
    return {"cpu": f"{service.cpu_request or 0}m", "memory": str(service.memory_request or 16 * 2**20)}


def _broker(service: Service) -> dict[str, Any]:
    """RabbitMQ, empty at every start: what is in its queues is gone with it, as in the simulator."""
    return {
        "name": "broker",
        "image": BROKER_IMAGE,
        "imagePullPolicy": "Never",
        "ports": [{"containerPort": AMQP_PORT}],
        "resources": {"requests": _requests(service)},
        **_probes({"tcpSocket": {"port": AMQP_PORT}}),
        "securityContext": _RESTRICTED,
        "volumeMounts": [{"name": "data", "mountPath": DATA}],
    }


def _envoy() -> dict[str, Any]:
    """A sidecar in Kubernetes' own sense: it ends after the service, whose last requests still call through it."""
    return {
        "name": "envoy",
        "restartPolicy": "Always",
        "image": ENVOY_IMAGE,
        "imagePullPolicy": "Never",
        "args": ["-c", "/config/envoy.json", "--concurrency", "1", "--disable-hot-restart", "-l", "error"],
        "ports": [{"containerPort": STATS_PORT, "name": "stats"}],
        "resources": {"requests": {"memory": str(SIDECAR_MEMORY)}},
        **_probes({"httpGet": {"path": "/stats/prometheus?filter=server.live", "port": STATS_PORT}}),
        "securityContext": _RESTRICTED,
        "volumeMounts": [{"name": "config", "mountPath": "/config", "readOnly": True}],
    }
