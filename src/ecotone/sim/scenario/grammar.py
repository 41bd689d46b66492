"""The scenario file, field by field: what the reader accepts, and what a person wants to know of it.

One table serves both. The reader takes the names of a block's fields from here, so that a field without an explanation cannot
be read, and the reference page is printed from here. Defaults are those of `schema`; a test reads a scenario that says nothing
and holds it against them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from ecotone.sim.scenario import schema

REQUIRED, NONE = "required", "none"
DURATION, SIZE, RATE, SHARE = "duration", "size", "rate", "share"
TEXT, WHOLE, NUMBER, FLAG = "text", "whole number", "number", "true or false"
CPU, MEMORY = "CPU quantity", "memory quantity"


@dataclass(frozen=True, slots=True)
class Field:
    """`default` is a value in the schema's units, or one of `REQUIRED` and `NONE`."""

    kind: str
    meaning: str
    default: Any = NONE


@dataclass(frozen=True, slots=True)
class Block:
    """A mapping of the file. Iterating gives the names of its fields."""

    path: str
    meaning: str
    fields: Mapping[str, Field]

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)


def default(struct: type, name: str) -> Any:
    """What a struct of the schema has where a file says nothing."""
    found = next(each for each in fields(struct) if each.name == name)
    value = found.default_factory() if found.default_factory is not MISSING else found.default
    return NONE if value is None or value in ((), {}, "") else value


TOP = Block("(top)", "The document.", {
    "apiVersion": Field(TEXT, "`ecotone.dev/v1alpha1`.", REQUIRED),
    "kind": Field(TEXT, "`Scenario`.", REQUIRED),
    "metadata": Field("mapping", "Name and description.", REQUIRED),
    "spec": Field("mapping", "Everything else.", REQUIRED),
})  # fmt: skip
METADATA = Block("metadata", "What the scenario is called.", {
    "name": Field(TEXT, "Its name, in tables and reports.", REQUIRED),
    "description": Field(TEXT, "One line for `ecotone scenarios`."),
})  # fmt: skip
SPEC = Block("spec", "Cluster, application, users, and what happens to them.", {
    "duration": Field(DURATION, "How much simulated time is played.", REQUIRED),
    "warmup": Field(DURATION, "Requests sent before this moment are not counted.", 0.0),
    "cluster": Field("mapping", "Nodes and network.", REQUIRED),
    "application": Field("mapping", "Services and who calls whom.", REQUIRED),
    "load": Field("list", "Phases of requests by users."),
    "events": Field("list", "Changes of links and nodes during the run."),
    "control": Field("mapping", "How often monitoring and descheduling run, and how long failures go unnoticed."),
    "qos": Field("mapping", "Promised shares of the edge, and latencies of tiers."),
})  # fmt: skip
CLUSTER = Block("spec.cluster", "What pods run on.", {
    "nodes": Field("list", "The nodes.", REQUIRED),
    "network": Field("mapping", "Links between nodes; without it messages take no time."),
    "registry": Field("mapping", "Where nodes pull images from."),
})  # fmt: skip
NODE = Block("spec.cluster.nodes[]", "A node.", {
    "name": Field(TEXT, "Its name, unique.", REQUIRED),
    "tier": Field(TEXT, "`cloud`, `fog` or `edge`; becomes the label `ecotone.dev/tier`."),
    "cpu": Field(CPU, "Cores, allocatable and real: requests share them.", REQUIRED),
    "memory": Field(MEMORY, "Allocatable memory.", REQUIRED),
    "labels": Field("mapping of text", "Further labels, as on a Kubernetes node."),
    "taints": Field("list", "Taints; services need `tolerates` to run here."),
    "price": Field(NUMBER, "Price per hour, in any currency.", default(schema.NodeSpec, "price")),
    "pods": Field(WHOLE, "At most so many pods.", default(schema.NodeSpec, "pods")),
})  # fmt: skip
TAINT = Block("spec.cluster.nodes[].taints[]", "A taint, as in Kubernetes.", {
    "key": Field(TEXT, "Its key.", REQUIRED),
    "value": Field(TEXT, "Its value."),
    "effect": Field(TEXT, "`NoSchedule`, `PreferNoSchedule` or `NoExecute`.", REQUIRED),
})  # fmt: skip
REGISTRY = Block("spec.cluster.registry", "The image registry.", {
    "bandwidth": Field(RATE, "At which a node pulls images; see a service's `image`.", schema.REGISTRY),
})  # fmt: skip
NETWORK = Block("spec.cluster.network", "Links between nodes.", {
    "default": Field("mapping", "The link of every pair that is not listed."),
    "links": Field("list", "Links of single pairs."),
    "routing": Field(TEXT, "`direct`: a pair has its own link. `shortest-path`: over the listed links.", "direct"),
})  # fmt: skip
_QUALITIES = {
    "rtt": Field(DURATION, "Round trip.", default(schema.Link, "rtt")),
    "jitter": Field(DURATION, "Standard deviation of a message's one-way delay.", default(schema.Link, "jitter")),
    "bandwidth": Field(RATE, "Of each direction.", "unlimited"),
    "loss": Field(SHARE, "Of messages; each lost one is sent again after a time-out.", default(schema.Link, "loss")),
}
QUALITIES = Block("spec.cluster.network.default", "What a link is like.", _QUALITIES)
LINK = Block("spec.cluster.network.links[]", "The link of one pair; a round trip left out is the default link's.", {
    "between": Field("list of two", "The nodes it joins.", REQUIRED), **_QUALITIES,
})  # fmt: skip
APPLICATION = Block("spec.application", "What runs.", {
    "name": Field(TEXT, "Its name, the `app-group` of its services.", REQUIRED),
    "services": Field("list", "The services.", REQUIRED),
    "traces": Field("mapping", "Service to `[[time, replicas], ...]`: the number of replicas is set at these times."),
    "autoscale": Field("mapping", "Service to autoscaler; a service has a trace or an autoscaler, not both."),
})  # fmt: skip
SERVICE = Block("spec.application.services[]", "A Deployment with its Service.", {
    "name": Field(TEXT, "Its name, unique.", REQUIRED),
    "replicas": Field(WHOLE, "Pods at the beginning.", default(schema.Service, "replicas")),
    "requests": Field("mapping", "`cpu` and `memory` that a pod requests."),
    "limits": Field("mapping", "`cpu` (a quota per 100 ms) and `memory` that a pod may use."),
    "memory": Field("mapping", "What a pod really uses; without it, what it requests."),
    "image": Field(SIZE, "Pulled before the first start on a node.", default(schema.Service, "image")),
    "startup": Field(DURATION, "From the start of the container until it is ready.", default(schema.Service, "startup")),
    "grace": Field(DURATION, "Given to a pod that is asked to end.", default(schema.Service, "grace")),
    "disruption": Field("mapping", "A PodDisruptionBudget."),
    "tolerates": Field("list of text", "Keys of taints that its pods tolerate."),
    "pinned": Field(TEXT, "The node its pods run on, whatever the policy."),
    "prefer": Field("mapping", "Preferred node affinity to a tier."),
    "balance": Field(
        TEXT,
        "Which ready pod a call goes to: `uniform` (kube-proxy), `same-zone` or `same-node` (PreferSameZone, PreferSameNode).",
        default(schema.Service, "balance"),
    ),
    "index": Field(WHOLE, "Its place in the order of the application, front ends 0: label `ecotone.dev/index`."),
    "role": Field(TEXT, "`message-queue` for the queue of an asynchronous application: label `ecotone.dev/role`."),
    "max-latency": Field(DURATION, "Its bound on round trips: annotation `ecotone.dev/max-latency`."),
    "app-group": Field(TEXT, "The application it belongs to, where a scenario has several."),
    "external": Field(FLAG, "Outside the cluster, reached through an output proxy.", default(schema.Service, "external")),
    "proxy": Field("mapping", "The output proxy of an external service."),
    "endpoints": Field("list", "What can be called."),
})  # fmt: skip
RESOURCES = Block("spec.application.services[].requests, limits", "Resources of a pod.", {
    "cpu": Field(CPU, "CPU."),
    "memory": Field(MEMORY, "Memory."),
})  # fmt: skip
MEMORY_USE = Block("spec.application.services[].memory", "Memory in use.", {
    "use": Field(MEMORY, "Of one pod; not above its limit.", REQUIRED),
})  # fmt: skip
PREFER = Block("spec.application.services[].prefer", "A preference, not a demand.", {
    "tier": Field(TEXT, "The tier.", REQUIRED),
    "weight": Field(WHOLE, "1 or more, as in node affinity.", default(schema.Service, "prefer_weight")),
})  # fmt: skip
PROXY = Block("spec.application.services[].proxy", "The output proxy.", {
    "cpu": Field(DURATION, "CPU time per call.", default(schema.Service, "proxy_cpu")),
    "rtt": Field(DURATION, "Round trip to the server outside.", default(schema.Service, "proxy_rtt")),
})  # fmt: skip
BUDGET = Block("spec.application.services[].disruption", "One of the two.", {
    "max-unavailable": Field(WHOLE, "At most so many pods may be gone."),
    "min-available": Field(WHOLE, "At least so many must stay."),
})  # fmt: skip
ENDPOINT = Block("spec.application.services[].endpoints[]", "Something that can be called.", {
    "name": Field(TEXT, "Its name, unique in the service.", REQUIRED),
    "cpu": Field(
        "duration or mapping", "CPU time of a request, exponentially distributed.", default(schema.Endpoint, "cpu_mean")
    ),
    "stages": Field("list of lists", "Stages one after the other; the calls of a stage all at once."),
})  # fmt: skip
DEMAND = Block("spec.application.services[].endpoints[].cpu", "CPU time with its distribution.", {
    "mean": Field(DURATION, "The mean.", REQUIRED),
    "distribution": Field(TEXT, "`exponential` or `constant`.", "exponential"),
})  # fmt: skip
CALL = Block("spec.application.services[].endpoints[].stages[][]", "A call of another service.", {
    "call": Field(TEXT, "`service.endpoint`.", REQUIRED),
    "protocol": Field(TEXT, "`HTTP`, `gRPC`, `TCP`, `AMQP`, `MQTT` or `HTTPServerPush`.", default(schema.Call, "protocol")),
    "connection": Field(TEXT, "`kept`, or `new`: one round trip more for each call.", "kept"),
    "probability": Field(NUMBER, "0 to 1: how often it is made.", default(schema.Call, "probability")),
    "count": Field(WHOLE, "How many times, one after the other.", default(schema.Call, "count")),
    "request": Field(SIZE, "Of the request.", default(schema.Call, "request")),
    "response": Field(SIZE, "Of the answer.", default(schema.Call, "response")),
    "async": Field(FLAG, "The caller does not wait for it.", default(schema.Call, "detached")),
    "deadline": Field(DURATION, "Longest round trip that policies are asked to keep; a late call is not ended."),
    "soft": Field(FLAG, "The deadline costs when missed, and forbids nothing.", default(schema.Call, "soft")),
})  # fmt: skip
AUTOSCALE = Block("spec.application.autoscale.*", "A HorizontalPodAutoscaler with one target, `cpu` or `requests`.", {
    "cpu": Field(SHARE, "Target of CPU use, as a share of the request."),
    "requests": Field(NUMBER, "Target of requests per second and pod."),
    "min": Field(WHOLE, "At least so many replicas.", default(schema.Autoscale, "least")),
    "max": Field(WHOLE, "At most so many.", default(schema.Autoscale, "most")),
    "scale-down-window": Field(
        DURATION, "A scale-down goes to the highest recommendation of this time.", default(schema.Autoscale, "settle")
    ),
})  # fmt: skip
LOAD = Block("spec.load[]", "A phase of requests by users.", {
    "at": Field(DURATION, "When it begins.", REQUIRED),
    "for": Field(DURATION, "How long it goes on.", REQUIRED),
    "entry": Field(TEXT, "`service.endpoint` that users call.", REQUIRED),
    "from": Field("list or `all`", "Nodes at which users enter; they are equally many at each.", REQUIRED),
    "arrivals": Field("mapping", "How many requests, and when.", REQUIRED),
    "connection": Field(TEXT, "`kept` or `new`.", "kept"),
    "request": Field(SIZE, "Of the request.", default(schema.Load, "request")),
    "response": Field(SIZE, "Of the answer.", default(schema.Load, "response")),
})  # fmt: skip
ARRIVALS = Block("spec.load[].arrivals", "Either `poisson`, or `users` with `every` or `think`.", {
    "poisson": Field(NUMBER, "Requests per second, at random moments, whatever the answers."),
    "users": Field(WHOLE, "People who send requests."),
    "every": Field(DURATION, "Each of them sends one so often; a moment that comes before the last answer is skipped."),
    "think": Field(DURATION, "Pause between an answer and the next request."),
})  # fmt: skip
EVENT = Block("spec.events[]", "A change of a `link` or of a `node`.", {
    "at": Field(DURATION, "When.", REQUIRED),
    "link": Field("list of two", "The link that changes; give the qualities that do."),
    "node": Field(TEXT, "The node that changes."),
    "state": Field(TEXT, "Of the node: `up`, `down`, `cordoned` or `uncordoned`."),
    **{name: Field(each.kind, each.meaning) for name, each in _QUALITIES.items()},
})  # fmt: skip
CONTROL = Block("spec.control", "Periods of the loops, and how long a dead node goes unnoticed.", {
    "scrape": Field(DURATION, "Between two scrapes of the metrics.", default(schema.Control, "scrape")),
    "monitor": Field(DURATION, "Between two runs of the monitor.", default(schema.Control, "monitor")),
    "deschedule": Field(DURATION, "Between two runs of the descheduler.", default(schema.Control, "deschedule")),
    "window": Field(DURATION, "Over which measurements are averaged.", default(schema.Control, "window")),
    "probe": Field(DURATION, "Between two probes of a link.", default(schema.Control, "probe")),
    "node-grace": Field(DURATION, "Until a silent node counts as unreachable.", default(schema.Control, "node_grace")),
    "toleration": Field(DURATION, "Until its pods are replaced elsewhere.", default(schema.Control, "toleration")),
    "timeout": Field(
        DURATION, "Until a caller gives up on a node that does not answer.", default(schema.Control, "timeout")
    ),
})  # fmt: skip
QOS = Block("spec.qos", "What services were promised.", {
    "latency": Field("mapping", "Tier to duration: how long a pod on this tier takes to answer."),
    "targets": Field("mapping", "Service to share (0 to 1) of its pods that is promised to the edge."),
})  # fmt: skip

BLOCKS = (
    TOP, METADATA, SPEC, CLUSTER, NODE, TAINT, REGISTRY, NETWORK, QUALITIES, LINK, APPLICATION, SERVICE, RESOURCES,
    MEMORY_USE, PREFER, PROXY, BUDGET, ENDPOINT, DEMAND, CALL, AUTOSCALE, LOAD, ARRIVALS, EVENT, CONTROL, QOS,
)  # fmt: skip
