"""The application part of a scenario file: services, endpoints, stages of calls, traces, autoscaling."""

from __future__ import annotations

from ecotone.manifests.yaml.positions import Node
from ecotone.sim.scenario import checks, grammar, units
from ecotone.sim.scenario.fields import Fields, flag, items, one_of, resource, text
from ecotone.sim.scenario.schema import BALANCES, UNIFORM, Application, Autoscale, Budget, Call, Endpoint, Service

PROTOCOLS = ("HTTP", "gRPC", "TCP", "AMQP", "MQTT", "HTTPServerPush")


def read(node: Node, *, nodes: list[str]) -> Application:
    fields = Fields(node, what="the application", known=grammar.APPLICATION)
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
    fields = Fields(node, what="the service", known=grammar.SERVICE)
    requests, limits = _resources(fields, "requests"), _resources(fields, "limits")
    proxy = fields.read("proxy", lambda at: Fields(at, what="the proxy", known=grammar.PROXY), None)
    external = fields.read("external", flag, False)
    if proxy is not None and not external:
        raise proxy.node.error("only an external service has an output proxy", hint="add `external: true`")
    memory_use = fields.read("memory", _memory_use, None)
    if memory_use is not None and memory_use > limits.get("memory", memory_use):
        raise fields.need("memory").error(
            "the pod uses more memory than its limit and would be killed as it starts",
            hint="lower `use` or raise the limit",
        )
    prefer = fields.read("prefer", lambda at: Fields(at, what="prefer", known=grammar.PREFER), None)
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
        memory_use=memory_use,
        image=fields.read("image", units.size, 0.0),
        index=fields.read("index", lambda at: units.whole(at, what="an index"), None),
        external=external,
        proxy_cpu=proxy.read("cpu", units.duration, 0.0) if proxy else 0.0,
        proxy_rtt=proxy.read("rtt", units.duration, 0.0) if proxy else 0.0,
        pinned=fields.read("pinned", lambda at: checks.known(at, nodes, what="node"), None),
        prefer_tier=prefer.text("tier") if prefer else None,
        prefer_weight=prefer.read("weight", lambda at: units.whole(at, what="a weight", least=1), 1) if prefer else 1,
        startup=fields.read("startup", units.duration, 0.0),
        balance=fields.read("balance", lambda at: one_of(at, BALANCES, what="a balance"), UNIFORM),
        max_latency=fields.read("max-latency", units.duration, None),
        role=fields.text("role", "") or None,
        group=fields.text("app-group", "") or None,
        grace=fields.read("grace", units.duration, 30.0),
        budget=fields.read("disruption", _budget, None),
        tolerates=tuple(text(each, what="a taint's key") for each in items(fields.get("tolerates"), what="tolerates")),
        endpoints=endpoints,
    )


def _resources(fields: Fields, name: str) -> dict[str, int]:
    given = fields.get(name)
    if given is None:
        return {}
    inner = Fields(given, what=f"`{name}`", known=grammar.RESOURCES)
    return {kind: resource(kind)(value) for kind in ("cpu", "memory") if (value := inner.get(kind)) is not None}


def _memory_use(node: Node) -> int:
    return resource("memory")(
        Fields(node, what="`memory`", known=grammar.MEMORY_USE).need("use", hint="write `{use: 80Mi}`")
    )


def _budget(node: Node) -> Budget:
    fields = Fields(node, what="the disruption budget", known=grammar.BUDGET)
    most, least = fields.get("max-unavailable"), fields.get("min-available")
    if (most is None) == (least is None):
        raise node.error("a disruption budget has `max-unavailable` or `min-available`, one of the two")
    return Budget(
        max_unavailable=None if most is None else units.whole(most, what="`max-unavailable`"),
        min_available=None if least is None else units.whole(least, what="`min-available`"),
    )


def _endpoint(node: Node) -> Endpoint:
    fields = Fields(node, what="the endpoint", known=grammar.ENDPOINT)
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
    fields = Fields(node, what="`cpu`", known=grammar.DEMAND)
    kind = fields.read(
        "distribution", lambda at: one_of(at, ("exponential", "constant"), what="a distribution"), "exponential"
    )
    return units.duration(fields.need("mean")), kind == "constant"


def _call(node: Node) -> Call:
    fields = Fields(node, what="the call", known=grammar.CALL)
    service, endpoint = target(fields.need("call", hint="write `call: service.endpoint`"))
    probability = fields.read("probability", lambda at: units.number(at, what="a probability"), 1.0)
    if probability > 1.0:
        raise fields.need("probability").error("a probability is at most 1", hint="write for example `0.5`")
    deadline, soft = fields.read("deadline", units.duration, None), fields.read("soft", flag, False)
    if soft and deadline is None:
        raise fields.need("soft").error("`soft` is about a deadline", hint="add `deadline: 50ms`")
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
        deadline=deadline,
        soft=soft,
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
    fields = Fields(node, what="autoscale", known=grammar.AUTOSCALE)
    cpu = fields.read("cpu", units.share, None)
    requests = fields.read("requests", lambda at: units.number(at, what="requests per second and pod"), None)
    if (cpu is None) == (requests is None):
        raise node.error("an autoscaler has one target", hint="write `cpu: 60%`, or `requests: 5` per second and pod")
    if cpu is not None and cpu <= 0:
        raise fields.need("cpu").error("the target must be above 0", hint="write for example `60%`")
    if requests is not None and requests <= 0:
        raise fields.need("requests").error("the target must be above 0", hint="write for example `5`")
    least = fields.read("min", lambda at: units.whole(at, what="`min`", least=1), 1)
    most = fields.read("max", lambda at: units.whole(at, what="`max`", least=1), 10)
    if most < least:
        raise fields.need("max").error(f"`max` {most} is below `min` {least}")
    return Autoscale(cpu, least, most, requests, fields.read("scale-down-window", units.duration, 300.0))
