"""A template as the application part of a scenario of the simulator.

What a template says carries over: services, replicas, requests and limits, index, roles, who calls whom by which
protocol. What it cannot say is a plain default for a person to edit: every service has one endpoint `run` that spends a
little CPU and then calls all its peers at once. Circles are left out where the index breaks them, or a request would
never end. The simulator derives priorities from protocols, so a priority that a template overrides is not carried over.
"""

from __future__ import annotations

from typing import Any

from ecotone.tosca.application import ASYNCHRONOUS, Application, Channel, Service
from ecotone.tosca.graph import ApplicationGraph, graph_of

ENDPOINT = "run"
_SPOKEN = {"Synchronous": "TCP", "Asynchronous": "AMQP", None: "HTTP"}


def scenario_application(application: Application, *, pinned: str | None = None, cpu: str = "2ms") -> dict[str, Any]:
    """`spec.application` of a scenario; external services stand at the node `pinned`."""
    graph = graph_of(application)
    services = [_service(service, graph, pinned, cpu) for service in application.services]
    return {"name": application.name, "services": services}


def _service(service: Service, graph: ApplicationGraph, pinned: str | None, cpu: str) -> dict[str, Any]:
    made: dict[str, Any] = {"name": service.name, "index": graph.index()[service.name]}
    endpoint: dict[str, Any] = {"name": ENDPOINT, "cpu": cpu}
    calls = [
        _call(channel)
        for channel in graph.channels
        if channel.source == service.name != channel.target and (channel.source, channel.target) not in graph.broken
    ]
    if calls:
        endpoint["stages"] = [calls]
    if service.external:
        made["external"] = True
        if pinned is not None:
            made["pinned"] = pinned
    else:
        made["replicas"] = service.settings.get("replicas", 1)
        made |= _resources(service)
        if service.settings.get("role") is not None:
            made["role"] = service.settings["role"]
    made["endpoints"] = [endpoint]
    return made


def _resources(service: Service) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for group, names in (("requests", ("cpu", "memory")), ("limits", ("cpuLimit", "memoryLimit"))):
        pairs = zip(("cpu", "memory"), names, strict=True)
        given = {resource: service.settings[name] for resource, name in pairs if name in service.settings}
        if given:
            found[group] = given
    return found


def _call(channel: Channel) -> dict[str, Any]:
    call: dict[str, Any] = {
        "call": f"{channel.target}.{ENDPOINT}",
        "protocol": _SPOKEN.get(channel.protocol, channel.protocol),
    }
    if channel.protocol in ASYNCHRONOUS:
        call["async"] = True
    if channel.deadline_ms is not None:
        call["deadline"] = f"{channel.deadline_ms:.12g}ms"
        if channel.soft:
            call["soft"] = True
    return call
