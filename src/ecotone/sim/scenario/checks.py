"""What can only be checked when the whole scenario is known.

Each check points at the line where the mistake was made, which is found again in the document by its structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node
from ecotone.model import quantity
from ecotone.sim.scenario.fields import Fields, items, text
from ecotone.sim.scenario.schema import Application, Scenario


def known(node: Node, names: Iterable[str], *, what: str) -> str:
    """The name at this place, if it is one of those there are."""
    name = text(node, what=f"the name of a {what}")
    choices = list(names)
    if name not in choices:
        raise node.error(f"there is no {what} `{name}`", hint=did_you_mean(name, choices))
    return name


def check(scenario: Scenario, spec: Fields) -> None:
    application = spec.need("application")
    for service, endpoint, call in _calls(application):
        _check_target(call.get("call") or call, scenario.application, f"{service}.{endpoint}")
    for load in items(spec.get("load"), what="load"):
        _check_target(load.get("entry") or load, scenario.application, "the load")
    _check_circles(scenario.application, application)
    _check_pinned(scenario, application)
    if scenario.duration <= 0:
        raise spec.need("duration").error("the duration must be above 0", hint="write for example `600s`")
    if scenario.warmup >= scenario.duration:
        raise spec.need("warmup").error(
            "the warm-up is as long as the whole run", hint="shorten it or lengthen `duration`"
        )
    qos = spec.get("qos")
    targets = qos.get("targets") if qos else None
    for key, _ in targets.entries() if targets else ():
        known(key, [service.name for service in scenario.application.services], what="service")


def _calls(application: Node) -> Iterator[tuple[str, str, Node]]:
    for service in items(application.get("services"), what="services"):
        for endpoint in items(service.get("endpoints"), what="endpoints"):
            for stage in items(endpoint.get("stages"), what="stages"):
                for call in items(stage, what="a stage"):
                    yield _name(service), _name(endpoint), call


def _name(node: Node) -> str:
    name = node.get("name")
    return name.text if name is not None else ""


def _check_target(place: Node, application: Application, caller: str) -> None:
    service, _, endpoint = place.text.rpartition(".")
    services = {each.name: each for each in application.services}
    if service not in services:
        hint = did_you_mean(service, services)
        raise place.error(f"{caller} calls `{place.text}`, but there is no service `{service}`", hint=hint)
    if endpoint not in services[service].endpoints:
        hint = did_you_mean(endpoint, services[service].endpoints)
        raise place.error(f"{caller} calls `{place.text}`, but `{service}` has no endpoint `{endpoint}`", hint=hint)


def _check_circles(application: Application, node: Node) -> None:
    """Depth first over endpoints; a call back into the chain that is being followed would never end."""
    graph = {
        (service.name, endpoint.name): [(call.service, call.endpoint) for stage in endpoint.stages for call in stage]
        for service in application.services
        for endpoint in service.endpoints.values()
    }
    places = {
        (service, endpoint, where.text): call
        for service, endpoint, call in _calls(node)
        if (where := call.get("call")) is not None
    }
    finished: set[tuple[str, str]] = set()
    for start, calls in graph.items():
        chain: list[tuple[str, str]] = []
        stack: list[tuple[tuple[str, str], Iterator[tuple[str, str]]]] = []
        if start not in finished:
            chain.append(start)
            stack.append((start, iter(calls)))
        while stack:
            here, following = stack[-1]
            called = next(following, None)
            if called is None:
                finished.add(here)
                chain.pop()
                stack.pop()
            elif called in chain:
                circle = " -> ".join(".".join(each) for each in [*chain[chain.index(called) :], called])
                place = places[(*here, ".".join(called))]
                raise place.error(f"calls go in a circle: {circle}", hint="remove one of these calls")
            elif called not in finished:
                chain.append(called)
                stack.append((called, iter(graph[called])))


def _check_pinned(scenario: Scenario, node: Node) -> None:
    """All pods pinned to a node must fit there, or they would wait for ever."""
    nodes = {each.name: each for each in scenario.nodes}
    free = {each.name: [each.cpu, each.memory, each.pods] for each in scenario.nodes}
    for place in items(node.get("services"), what="services"):
        service = scenario.application.service(_name(place))
        if service.pinned is None:
            continue
        count = service.replicas
        if service.name in scenario.application.traces:
            count = max((replicas for _, replicas in scenario.application.traces[service.name]), default=count)
        left = free[service.pinned]
        pinned = place.get("pinned") or place
        needs = ((service.cpu_request or 0, "cpu"), (service.memory_request or 0, "memory"), (1, "pods"))
        for kind, (need, resource) in enumerate(needs):
            if need * count > left[kind]:
                total = (nodes[service.pinned].cpu, nodes[service.pinned].memory, nodes[service.pinned].pods)[kind]
                raise pinned.error(
                    f"`{service.name}` is pinned to `{service.pinned}`, which cannot fit it: {count} x "
                    f"{quantity.show(resource, need)} {resource} asked, {quantity.show(resource, left[kind])} of "
                    f"{quantity.show(resource, total)} left",
                    hint="pin it elsewhere, lower `requests`, or enlarge the node",
                )
            left[kind] -= need * count
