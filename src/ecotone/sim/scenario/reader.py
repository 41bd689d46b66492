"""From a `kind: Scenario` document to a `Scenario`, or to one line that says what to write instead.

Structure is read here from the top down; what needs the whole picture (names that must exist, calls in a circle, pinned
pods that fit nowhere) is checked in `checks` with the places that were kept on the way.
"""

from __future__ import annotations

from ecotone.manifests.yaml.positions import Limits, Node, load_document
from ecotone.model.selectors import Taint
from ecotone.sim.scenario import application, checks, grammar, units
from ecotone.sim.scenario.fields import Fields, items, one_of, resource, text
from ecotone.sim.scenario.schema import (
    REGISTRY,
    Control,
    Link,
    LinkChange,
    Load,
    NetworkSpec,
    NodeChange,
    NodeSpec,
    Qos,
    Scenario,
)

API_VERSION = "ecotone.dev/v1alpha1"
STATES = ("up", "down", "cordoned", "uncordoned")
_LIMITS = Limits(max_bytes=8 * 1024 * 1024, max_nodes=500_000)
_PERIODS = ("scrape", "monitor", "deschedule", "window", "probe")  # the others may be 0


def read_scenario(content: str | bytes, *, file: str) -> Scenario:
    document = load_document(content, file=file, limits=_LIMITS)
    top = Fields(document, what="the scenario", known=grammar.TOP)
    if top.text("apiVersion") != API_VERSION:
        raise top.need("apiVersion").error("unknown apiVersion", hint=f"write `{API_VERSION}`")
    if top.text("kind") != "Scenario":
        raise top.need("kind").error(f"`kind: {top.text('kind')}` is no scenario", hint="write `kind: Scenario`")
    metadata = Fields(top.need("metadata"), what="metadata", known=grammar.METADATA)
    spec = Fields(top.need("spec"), what="spec", known=grammar.SPEC)
    cluster = Fields(spec.need("cluster"), what="the cluster", known=grammar.CLUSTER)
    nodes = _nodes(cluster.need("nodes"))
    names = [node.name for node in nodes]
    app = application.read(spec.need("application"), nodes=names)
    links, states = _events(spec.get("events"), names)
    scenario = Scenario(
        name=metadata.text("name"),
        description=metadata.text("description", ""),
        duration=units.duration(spec.need("duration")),
        warmup=spec.read("warmup", units.duration, 0.0),
        nodes=nodes,
        network=_network(cluster.get("network"), names),
        application=app,
        load=tuple(_load(each, names) for each in items(spec.get("load"), what="load")),
        link_changes=links,
        node_changes=states,
        control=spec.read("control", _control, Control()),
        qos=spec.read("qos", _qos, None),
        registry=cluster.read("registry", _registry, REGISTRY),
    )
    checks.check(scenario, spec)
    return scenario


def _nodes(node: Node) -> tuple[NodeSpec, ...]:
    found: dict[str, NodeSpec] = {}
    for each in items(node, what="nodes"):
        fields = Fields(each, what="the node", known=grammar.NODE)
        name = fields.text("name")
        if name in found:
            raise fields.need("name").error(f"two nodes are called `{name}`")
        found[name] = NodeSpec(
            name=name,
            cpu=resource("cpu")(fields.need("cpu")),
            memory=resource("memory")(fields.need("memory")),
            tier=fields.text("tier", "") or None,
            labels=fields.read("labels", _labels, {}),
            taints=tuple(_taint(taint) for taint in items(fields.get("taints"), what="taints")),
            price=fields.read("price", lambda price: units.number(price, what="a price"), 0.0),
            pods=fields.read("pods", lambda pods: units.whole(pods, what="the number of pods"), 110),
        )
        if found[name].cpu <= 0:
            raise fields.need("cpu").error("a node needs CPU", hint='write for example `cpu: "2"`')
    if not found:
        raise node.error("the cluster has no nodes")
    return tuple(found.values())


def _labels(node: Node) -> dict[str, str]:
    Fields(node, what="labels", known=node.keys())
    return {key: text(value, what=f"label `{key}`") for key, value in node.items()}


def _taint(node: Node) -> Taint:
    fields = Fields(node, what="the taint", known=grammar.TAINT)
    effect = one_of(fields.need("effect"), ("NoSchedule", "PreferNoSchedule", "NoExecute"), what="a taint's effect")
    return Taint(key=fields.text("key"), value=fields.text("value", ""), effect=effect)


def _qualities(fields: Fields) -> dict[str, float]:
    parsers = {"rtt": units.duration, "jitter": units.duration, "bandwidth": units.rate, "loss": _loss}
    return {name: parse(value) for name, parse in parsers.items() if (value := fields.get(name)) is not None}


def _loss(node: Node) -> float:
    value = units.share(node)
    if value >= 1.0:
        raise node.error("a link that loses every message is no link", hint="write less than `100%`")
    return value


def _network(node: Node | None, names: list[str]) -> NetworkSpec:
    if node is None:
        return NetworkSpec()
    fields = Fields(node, what="the network", known=grammar.NETWORK)
    default = Link()
    if (given := fields.get("default")) is not None:
        default = Link(**_qualities(Fields(given, what="the default link", known=grammar.QUALITIES)))
    links: dict[tuple[str, str], Link] = {}
    for each in items(fields.get("links"), what="links"):
        link = Fields(each, what="the link", known=grammar.LINK)
        pair = _pair(link.need("between"), names)
        if pair in links or pair[::-1] in links:
            raise each.error(f"two links between `{pair[0]}` and `{pair[1]}`")
        qualities = _qualities(link)
        if "rtt" not in qualities:
            qualities["rtt"] = default.rtt
        links[pair] = Link(**qualities)
    routing = fields.read("routing", lambda at: one_of(at, ("direct", "shortest-path"), what="routing"), "direct")
    return NetworkSpec(default, tuple(links.items()), routing == "shortest-path")


def _pair(node: Node, names: list[str]) -> tuple[str, str]:
    ends = [checks.known(end, names, what="node") for end in items(node, what="the ends of a link")]
    if len(ends) != 2 or ends[0] == ends[1]:
        raise node.error("a link joins two different nodes", hint="write `[edge-1, cloud-1]`")
    return ends[0], ends[1]


def _load(node: Node, names: list[str]) -> Load:
    fields = Fields(node, what="the load", known=grammar.LOAD)
    service, endpoint = application.target(fields.need("entry"))
    arrivals = Fields(fields.need("arrivals"), what="arrivals", known=grammar.ARRIVALS)
    poisson, users = arrivals.get("poisson"), arrivals.get("users")
    every, think = arrivals.get("every"), arrivals.get("think")
    if (poisson is None) == (users is None):
        hint = "write `{poisson: 50}` or `{users: 20, every: 1s}`"
        raise arrivals.node.error("arrivals are either `poisson` or `users`", hint=hint)
    if users is not None and (every is None) == (think is None):
        raise arrivals.node.error(
            "users need `every` or `think`, one of the two", hint="write `{users: 20, every: 1s}`"
        )
    if poisson is not None and (every is not None or think is not None):
        raise arrivals.node.error("`every` and `think` belong to `users`")
    if every is not None and units.duration(every) <= 0:
        raise every.error("`every` must be above 0", hint="write for example `1s`")
    connection = fields.read("connection", application.connection, False)
    return Load(
        at=units.duration(fields.need("at")),
        length=units.duration(fields.need("for")),
        service=service,
        endpoint=endpoint,
        sources=_sources(fields.need("from", hint="write `from: [edge-1]` or `from: all`"), names),
        poisson=0.0 if poisson is None else units.number(poisson, what="the rate of arrivals"),
        users=0 if users is None else units.whole(users, what="the number of users"),
        every=None if every is None else units.duration(every),
        think=None if think is None else units.duration(think),
        new_connection=connection,
        request=fields.read("request", units.size, 0.0),
        response=fields.read("response", units.size, 0.0),
    )


def _sources(node: Node, names: list[str]) -> tuple[str, ...]:
    if node.is_scalar and node.value == "all":
        return tuple(names)
    found = tuple(checks.known(each, names, what="node") for each in items(node, what="`from`"))
    if not found:
        raise node.error("users enter somewhere", hint="write `from: [edge-1]` or `from: all`")
    return found


def _events(node: Node | None, names: list[str]) -> tuple[tuple[LinkChange, ...], tuple[NodeChange, ...]]:
    links: list[LinkChange] = []
    states: list[NodeChange] = []
    for each in items(node, what="events"):
        fields = Fields(each, what="the event", known=grammar.EVENT)
        at = units.duration(fields.need("at"))
        link, name = fields.get("link"), fields.get("node")
        if (link is None) == (name is None):
            raise each.error("an event changes a `link` or a `node`, one of the two")
        if link is not None:
            qualities = _qualities(fields)
            if not qualities:
                raise each.error("the event changes nothing", hint="write for example `rtt: 100ms`")
            links.append(LinkChange(at, _pair(link, names), qualities))
        elif name is not None:
            state = one_of(fields.need("state"), STATES, what="a node's state")
            states.append(NodeChange(at, checks.known(name, names, what="node"), state))
    return tuple(links), tuple(states)


def _control(node: Node) -> Control:
    fields = Fields(node, what="control", known=grammar.CONTROL)
    found = {name: units.duration(value) for name, _ in fields.node.items() if (value := fields.get(name)) is not None}
    for name, seconds in found.items():
        if seconds <= 0 and name in _PERIODS:
            raise fields.need(name).error(f"`{name}` must be above 0", hint="write for example `30s`")
    return Control(**{name.replace("-", "_"): seconds for name, seconds in found.items()})


def _registry(node: Node) -> float:
    return units.rate(Fields(node, what="the registry", known=grammar.REGISTRY).need("bandwidth"))


def _qos(node: Node) -> Qos:
    fields = Fields(node, what="qos", known=grammar.QOS)
    latency = fields.get("latency")
    targets = fields.get("targets")
    return Qos(
        latency={tier: units.duration(value) for tier, value in latency.items()} if latency else {},
        targets={name: units.number(value, what="a target") for name, value in targets.items()} if targets else {},
    )
