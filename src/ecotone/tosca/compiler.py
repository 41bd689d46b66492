"""From an application to Kubernetes objects.

The result is plain data that `kubectl apply` takes: Deployments and Services with the keys of `manifests.keys`, output proxies
for external services, and where the template asks for them autoscalers and disruption budgets. The same template gives
the same bytes, everywhere.
"""

from __future__ import annotations

import json
from typing import Any

from ecotone.manifests.keys import (
    AFFINITY,
    APP,
    APP_GROUP,
    DEADLINES,
    EXTERNAL,
    INDEX,
    MAX_LATENCY,
    PROTOCOLS,
    ROLE,
    SOFT_DEADLINES,
)
from ecotone.manifests.yaml.positions import collector_paused
from ecotone.tosca.application import Application, Service
from ecotone.tosca.graph import ApplicationGraph, graph_of
from ecotone.tosca.proxy import listen_port, proxy_affinity, proxy_container

MESSAGE_QUEUE = "message-queue"


def compile_application(
    application: Application,
    graph: ApplicationGraph | None = None,
    *,
    namespace: str | None = None,
    scheduler_name: str | None = None,
) -> list[dict[str, Any]]:
    """Every object of the application, in the order of the template."""
    compiler = _Compiler(application, graph or graph_of(application), namespace, scheduler_name)
    with collector_paused():
        return [item for service in application.services for item in compiler.objects(service)]


class _Compiler:
    """Holds what every object needs to know of the whole application."""

    def __init__(
        self, application: Application, graph: ApplicationGraph, namespace: str | None, scheduler_name: str | None
    ) -> None:
        self._group = application.name
        self._namespace = namespace
        self._scheduler_name = scheduler_name
        self._affinity = graph.pair_affinity()
        self._deadlines = graph.deadlines()
        self._soft_deadlines = graph.deadlines(soft=True)
        self._protocols = graph.protocols()
        self._index = graph.index()
        self._bound = _queue_bound(application, graph)

    def objects(self, service: Service) -> list[dict[str, Any]]:
        made = [self._deployment(service)]
        if service.endpoint.get("port") is not None:
            made.append(self._service(service))
        scaling = service.settings.get("autoscale")
        if scaling is not None:
            made.append(self._autoscaler(service, scaling))
        disruption = service.settings.get("disruption")
        if disruption is not None:
            made.append(self._budget(service, disruption))
        return made

    def _metadata(self, service: Service, annotations: dict[str, str] | None = None) -> dict[str, Any]:
        metadata: dict[str, Any] = {"name": service.name}
        if self._namespace is not None:
            metadata["namespace"] = self._namespace
        metadata["labels"] = {APP: service.name, APP_GROUP: self._group, **_sorted(service.labels)}
        if annotations:
            metadata["annotations"] = _sorted(annotations)
        return metadata

    def _selector(self, service: Service) -> dict[str, str]:
        return {APP: service.name, APP_GROUP: self._group}

    def _deployment(self, service: Service) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        if service.settings.get("autoscale") is None:
            spec["replicas"] = service.settings["replicas"]
        spec["selector"] = {"matchLabels": self._selector(service)}
        spec["template"] = {"metadata": self._pod_metadata(service), "spec": self._pod(service)}
        annotations = dict(service.annotations)
        if service.external:
            annotations[EXTERNAL] = f"{service.endpoint['host']}:{service.endpoint['port']}"
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self._metadata(service, annotations),
            "spec": spec,
        }

    def _pod_metadata(self, service: Service) -> dict[str, Any]:
        labels = {APP: service.name, APP_GROUP: self._group, INDEX: str(self._index[service.name])}
        role = service.settings.get("role")
        if role is not None:
            labels[ROLE] = role
        annotations: dict[str, str] = {}
        if service.name in self._affinity:
            annotations[AFFINITY] = _compact(self._affinity[service.name])
        for key, listed in ((DEADLINES, self._deadlines), (SOFT_DEADLINES, self._soft_deadlines)):
            if service.name in listed:
                annotations[key] = _compact(listed[service.name])
        if service.name in self._protocols:
            annotations[PROTOCOLS] = _compact(self._protocols[service.name])
        if self._bound is not None:
            annotations[MAX_LATENCY] = f"{self._bound:g}ms"
        metadata: dict[str, Any] = {"labels": {**labels, **_sorted(service.labels)}}
        if annotations:
            metadata["annotations"] = annotations
        return metadata

    def _pod(self, service: Service) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        scheduler = service.settings.get("schedulerName", self._scheduler_name)
        if scheduler is not None:
            spec["schedulerName"] = scheduler
        if service.external:
            spec["affinity"] = proxy_affinity(service)
            container = proxy_container(service)
        else:
            selector = service.settings.get("nodeSelector")
            if selector:
                spec["nodeSelector"] = _sorted(selector)
            container = _container(service)
        resources = _resources(service.settings)
        if resources:
            container["resources"] = resources
        spec["containers"] = [container]
        return spec

    def _service(self, service: Service) -> dict[str, Any]:
        endpoint = service.endpoint
        target = listen_port(service) if service.external else endpoint.get("targetPort", endpoint["port"])
        port = {"port": endpoint["port"], "targetPort": target, "protocol": endpoint.get("protocol", "TCP")}
        spec: dict[str, Any] = {"selector": self._selector(service), "ports": [port]}
        if endpoint.get("nodePort") is not None:
            port["nodePort"] = endpoint["nodePort"]
            spec = {"type": "NodePort", **spec}
        return {"apiVersion": "v1", "kind": "Service", "metadata": self._metadata(service), "spec": spec}

    def _autoscaler(self, service: Service, scaling: dict[str, Any]) -> dict[str, Any]:
        target = {"type": "Utilization", "averageUtilization": scaling["cpu"]}
        return {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": self._metadata(service),
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": service.name},
                "minReplicas": scaling["min"],
                "maxReplicas": scaling["max"],
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
            },
        }

    def _budget(self, service: Service, disruption: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": self._metadata(service),
            "spec": {"selector": {"matchLabels": self._selector(service)}, **disruption},
        }


def _container(service: Service) -> dict[str, Any]:
    settings, endpoint = service.settings, service.endpoint
    container: dict[str, Any] = {"name": service.name, "image": settings["image"]}
    for name in ("command", "args"):
        if settings.get(name):
            container[name] = settings[name]
    if settings.get("env"):
        container["env"] = [{"name": name, "value": value} for name, value in settings["env"].items()]
    if endpoint.get("port") is not None:
        port = endpoint.get("targetPort", endpoint["port"])
        container["ports"] = [{"containerPort": port, "protocol": endpoint.get("protocol", "TCP")}]
    return container


def _resources(settings: dict[str, Any]) -> dict[str, Any]:
    resources: dict[str, dict[str, str]] = {}
    for group, names in (("requests", ("cpu", "memory")), ("limits", ("cpuLimit", "memoryLimit"))):
        given = {key: settings[name] for key, name in zip(("cpu", "memory"), names, strict=True) if name in settings}
        if given:
            resources[group] = given
    return resources


def _queue_bound(application: Application, graph: ApplicationGraph) -> float | None:
    """The delay bound of an asynchronous application: the tightest deadline of a channel to or from its queue."""
    queues = {service.name for service in application.services if service.settings.get("role") == MESSAGE_QUEUE}
    bounds = [
        channel.deadline_ms
        for channel in graph.channels
        if channel.deadline_ms is not None
        and not channel.soft
        and (channel.source in queues or channel.target in queues)
    ]
    return min(bounds) if bounds else None


def _compact(data: dict[str, Any]) -> str:
    return json.dumps(_sorted(data), separators=(",", ":"))


def _sorted(data: dict[str, Any]) -> dict[str, Any]:
    return dict(sorted(data.items()))
