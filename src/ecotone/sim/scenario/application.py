"""The application part of a scenario file: services, endpoints, stages of calls, traces, autoscaling."""

from __future__ import annotations

from ecotone.manifests.yamlpos import Node
from ecotone.sim.scenario import checks, units
from ecotone.sim.scenario.fields import Fields, flag, items, one_of, resource, text
from ecotone.sim.scenario.schema import Application, Autoscale, Budget, Call, Endpoint, Service

PROTOCOLS = ("HTTP", "gRPC", "TCP", "AMQP", "MQTT", "HTTPServerPush")
_SERVICE = (
    "name", "replicas", "requests", "limits", "index", "external", "proxy", "pinned", "prefer", "startup", "max-latency",
    "role", "app-group", "grace", "disruption", "endpoints",
)  # fmt: skip
_CALL = ("call", "protocol", "connection", "probability", "count", "request", "response", "async")


def read(node: Node, *, nodes: list[str]) -> Application:
    fields = Fields(node, what="the application", known=("name", "services", "traces", "autoscale"))
    services: dict[str, Service] = {}
    for each in items(fields.need("services"), what="services"):
        service = _service(each, nodes)
        if service.name in services:
            raise each.error(f"two services are called `{service.name}`")
        services[service.name] = service
    if not services:
        raise fields.need("services").error("the application has no services")
    traces = {
        checks.known(key, services, what="service"): _trace(value) for key, value in _entries(fields.get("traces"))
    }
    autoscale = {
        checks.known(key, services, what="service"): _autoscale(value)
        for key, value in _entries(fields.get("autoscale"))
    }
    for name in autoscale:
        if name in traces:
            raise fields.need("autoscale").error(f"`{name}` has a trace and an autoscaler", hint="keep one of the two")
    return Application(fields.text("name"), tuple(services.values()), traces, autoscale)


def _entries(node: Node | None) -> list[tuple[Node, Node]]:
    if node is None:
        return []
    if not node.is_mapping:
        raise node.error(f"service names with their settings are expected, not {node.describe()}")
    return list(node.entries())


def target(node: Node) -> tuple[str, str]:
    """`service.endpoint`."""
    service, dot, endpoint = text(node, what="a call").rpartition(".")
    if not dot or not service or not endpoint:
        raise node.error(f"`{node.text}` names no endpoint", hint="write `service.endpoint`")
    return service, endpoint


def connection(node: Node) -> bool:
    return one_of(node, ("kept", "new"), what="a connection") == "new"


def _service(node: Node, nodes: list[str]) -> Service:
    fields = Fields(node, what="the service", known=_SERVICE)
    requests, limits = _resources(fields, "requests"), _resources(fields, "limits")
    proxy = fields.read("proxy", lambda at: Fields(at, what="the proxy", known=("cpu", "rtt")), None)
    external = fields.read("external", flag, False)
    if proxy is not None and not external:
        raise proxy.node.error("only an external service has an output proxy", hint="add `external: true`")
    prefer = fields.read("prefer", lambda at: Fields(at, what="prefer", known=("tier", "weight")), None)
    endpoints: dict[str, Endpoint] = {}
    for each in items(fields.get("endpoints"), what="endpoints"):
        endpoint = _endpoint(each)
        if endpoint.name in endpoints:
            raise each.error(f"two endpoints are called `{endpoint.name}`")
        endpoints[endpoint.name] = endpoint
    return Service(
        name=fields.text("name"),
        replicas=fields.read("replicas", lambda at: units.whole(at, what="the number of replicas"), 1),
        cpu_request=requests.get("cpu"),
        memory_request=requests.get("memory"),
        cpu_limit=limits.get("cpu"),
        memory_limit=limits.get("memory"),
        index=fields.read("index", lambda at: units.whole(at, what="an index"), None),
        external=external,
        proxy_cpu=proxy.read("cpu", units.duration, 0.0) if proxy else 0.0,
        proxy_rtt=proxy.read("rtt", units.duration, 0.0) if proxy else 0.0,
        pinned=fields.read("pinned", lambda at: checks.known(at, nodes, what="node"), None),
        prefer_tier=prefer.text("tier") if prefer else None,
        prefer_weight=prefer.read("weight", lambda at: units.whole(at, what="a weight", least=1), 1) if prefer else 1,
        startup=fields.read("startup", units.duration, 0.0),
        max_latency=fields.read("max-latency", units.duration, None),
        role=fields.text("role", "") or None,
        group=fields.text("app-group", "") or None,
        grace=fields.read("grace", units.duration, 30.0),
        budget=fields.read("disruption", _budget, None),
        endpoints=endpoints,
    )


def _resources(fields: Fields, name: str) -> dict[str, int]:
    given = fields.get(name)
    if given is None:
        return {}
    inner = Fields(given, what=f"`{name}`", known=("cpu", "memory"))
    return {kind: resource(kind)(value) for kind in ("cpu", "memory") if (value := inner.get(kind)) is not None}


def _budget(node: Node) -> Budget:
    fields = Fields(node, what="the disruption budget", known=("max-unavailable", "min-available"))
    most, least = fields.get("max-unavailable"), fields.get("min-available")
    if (most is None) == (least is None):
        raise node.error("a disruption budget has `max-unavailable` or `min-available`, one of the two")
    return Budget(
        max_unavailable=None if most is None else units.whole(most, what="`max-unavailable`"),
        min_available=None if least is None else units.whole(least, what="`min-available`"),
    )


def _endpoint(node: Node) -> Endpoint:
    fields = Fields(node, what="the endpoint", known=("name", "cpu", "stages"))
    mean, constant = 0.0, False
    if (cpu := fields.get("cpu")) is not None:
        mean, constant = _cpu(cpu)
    stages = tuple(
        tuple(_call(call) for call in items(stage, what="a stage"))
        for stage in items(fields.get("stages"), what="stages")
    )
    return Endpoint(fields.text("name"), mean, constant, stages)


def _cpu(node: Node) -> tuple[float, bool]:
    if node.is_scalar:
        return units.duration(node), False
    fields = Fields(node, what="`cpu`", known=("mean", "distribution"))
    kind = fields.read(
        "distribution", lambda at: one_of(at, ("exponential", "constant"), what="a distribution"), "exponential"
    )
    return units.duration(fields.need("mean")), kind == "constant"


def _call(node: Node) -> Call:
    fields = Fields(node, what="the call", known=_CALL)
    service, endpoint = target(fields.need("call", hint="write `call: service.endpoint`"))
    probability = fields.read("probability", lambda at: units.number(at, what="a probability"), 1.0)
    if probability > 1.0:
        raise fields.need("probability").error("a probability is at most 1", hint="write for example `0.5`")
    return Call(
        service=service,
        endpoint=endpoint,
        protocol=fields.read("protocol", lambda at: one_of(at, PROTOCOLS, what="a protocol"), "HTTP"),
        new_connection=fields.read("connection", connection, False),
        probability=probability,
        count=fields.read("count", lambda at: units.whole(at, what="a count", least=1), 1),
        request=fields.read("request", units.size, 0.0),
        response=fields.read("response", units.size, 0.0),
        detached=fields.read("async", flag, False),
    )


def _trace(node: Node) -> tuple[tuple[float, int], ...]:
    points: list[tuple[float, int]] = []
    for each in items(node, what="a trace"):
        pair = items(each, what="a point of a trace")
        if len(pair) != 2:
            raise each.error("a point of a trace is a time and a count", hint="write `[30s, 3]`")
        points.append((units.duration(pair[0]), units.whole(pair[1], what="the number of replicas")))
        if len(points) > 1 and points[-1][0] <= points[-2][0]:
            raise each.error("the times of a trace must rise")
    return tuple(points)


def _autoscale(node: Node) -> Autoscale:
    fields = Fields(node, what="autoscale", known=("cpu", "min", "max"))
    cpu = units.share(fields.need("cpu"))
    if cpu <= 0:
        raise fields.need("cpu").error("the target must be above 0", hint="write for example `60%`")
    least = fields.read("min", lambda at: units.whole(at, what="`min`", least=1), 1)
    most = fields.read("max", lambda at: units.whole(at, what="`max`", least=1), 10)
    if most < least:
        raise fields.need("max").error(f"`max` {most} is below `min` {least}")
    return Autoscale(cpu, least, most)
