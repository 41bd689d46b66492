"""The resolver's language: what a placement request says, what an answer says, and how much of either is accepted.

Requests are decoded straight into these structs, so a wrong type, a missing or a misspelt field is refused with its
path before anything is computed. Sizes are bounded twice: the body by bytes, the problem by counts. What the shapes
cannot express (names that must exist, names that must be unique) is checked when the problem is built, and refused in
words.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from ecotone.model.errors import InputError
from ecotone.placement.exact.milp import Stage
from ecotone.placement.policy import as_objective
from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication
from ecotone.placement.problem.links import Link, LinkGraph, QosRequirement
from ecotone.placement.problem.solution import Placement, figures

BODY_LIMIT = 8 << 20
MOST_NODES = 5_000
MOST_LINKS = 50_000
MOST_APPLICATIONS = 2_000
MOST_MICROSERVICES = 64
MOST_PODS = 10_000
MOST_MILLICORES = 10**9
MOST_BYTES = 2**53 - 1
LONGEST_SECONDS = 600.0

Name = Annotated[str, Meta(min_length=1, max_length=253, description="A name, unique among its kind.")]
Millicores = Annotated[int, Meta(ge=1, le=MOST_MILLICORES, description="CPU in thousandths of a core.")]
Bytes = Annotated[int, Meta(ge=1, le=MOST_BYTES, description="Memory in bytes.")]
Milliseconds = Annotated[float, Meta(ge=0, le=1e9, description="A round trip in milliseconds.")]
Policy = Literal["pogonip", "pogonip-opt", "pogonip-greedy"]


class _Strict(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, rename="camel"):
    """Fields in camelCase, unknown ones refused."""


class Node(_Strict):
    """A host: what is free on it, and for cloud hosts what an hour costs."""

    name: Name
    cpu_millicores: Annotated[int, Meta(ge=0, le=MOST_MILLICORES, description="Free CPU in thousandths of a core.")]
    memory_bytes: Annotated[int, Meta(ge=0, le=MOST_BYTES, description="Free memory in bytes.")]
    tier: Annotated[Literal["edge", "cloud"], Meta(description="Queues stay on the edge.")] = "edge"
    price_per_hour: Annotated[float, Meta(ge=0, le=1e6, description="In any currency.")] = 0.0
    in_use: Annotated[bool, Meta(description="Pods run there already: it need not be opened.")] = False


class NetworkLink(_Strict):
    """An undirected link between two nodes."""

    a: Name
    b: Name
    latency_ms: Milliseconds
    bandwidth_bps: Annotated[float, Meta(ge=0, le=1e15, description="Bits per second; null: unlimited.")] | None = None
    jitter_ms: Annotated[float, Meta(ge=0, le=1e9, description="Jitter in milliseconds.")] = 0.0
    loss: Annotated[float, Meta(ge=0, le=1, description="Share of packets lost.")] = 0.0


class PathDemands(_Strict):
    """What a microservice demands of its path to the queue, wherever it runs."""

    max_latency_ms: Milliseconds | None = None
    min_bandwidth_bps: (
        Annotated[float, Meta(ge=0, le=1e15, description="Of every link of the path, bits per second.")] | None
    ) = None
    max_jitter_ms: (
        Annotated[float, Meta(ge=0, le=1e9, description="Of every link of the path, in milliseconds.")] | None
    ) = None
    max_loss: Annotated[float, Meta(ge=0, le=1, description="Of every link of the path, a share.")] | None = None


class Pod(_Strict):
    """One component. `node` says that it already runs there."""

    name: Name
    cpu_millicores: Millicores
    memory_bytes: Bytes
    node: Name | None = None
    channel: PathDemands | None = None


class AsyncApplication(_Strict):
    """A message queue, its microservices, and how far apart they may be."""

    name: Name
    max_delay_ms: Milliseconds
    queue: Pod
    microservices: Annotated[list[Pod], Meta(max_length=MOST_MICROSERVICES)]


class Infrastructure(_Strict):
    """Hosts, the links between them, and which of them are control nodes."""

    nodes: Annotated[list[Node], Meta(min_length=1, max_length=MOST_NODES)]
    links: Annotated[list[NetworkLink], Meta(max_length=MOST_LINKS)]
    control_nodes: Annotated[list[Name], Meta(min_length=1, max_length=16)]


class PlacementRequest(_Strict):
    """A whole problem. `asynchronous` answers at once with a job to ask for."""

    infrastructure: Infrastructure
    applications: Annotated[list[AsyncApplication], Meta(max_length=MOST_APPLICATIONS)]
    policy: Policy = "pogonip-opt"
    time_limit_seconds: Annotated[float, Meta(ge=0.1, le=LONGEST_SECONDS)] = 10.0
    asynchronous: bool = False


class PlacedPod(_Strict):
    name: str
    node: str
    latency_ms: float | None
    """Round trip to the queue; null for the queue itself."""


class PlacedApplication(_Strict):
    """`reason` is set exactly when the application was not placed."""

    name: str
    placed: bool
    pods: list[PlacedPod]
    reason: str | None = None


class StageAnswer(_Strict):
    """One objective: what was reached, what was proven, and the relative gap between them."""

    name: str
    value: float | None
    bound: float | None
    gap: float | None
    proven: bool


class LatencyAnswer(_Strict):
    mean: float | None
    median: float | None
    max: float | None


class ObjectiveAnswer(msgspec.Struct, kw_only=True):
    apps_placed: int
    apps_rejected: int
    edge_nodes_used: int
    edge_cost_per_hour: float
    forwarded_to_cloud: int
    cloud_cost_per_hour: float
    latency_ms: LatencyAnswer


class PlacementAnswer(_Strict):
    policy: Policy
    applications: list[PlacedApplication]
    objective: ObjectiveAnswer
    stages: list[StageAnswer]
    proven: bool


class Problem(_Strict):
    """An error: what is wrong, and where."""

    code: str
    message: str


JobState = Literal["queued", "running", "done", "failed", "cancelled"]


class Job(_Strict):
    """A placement under way. `progress` lists the objectives settled so far."""

    id: str
    state: JobState
    policy: Policy
    progress: list[StageAnswer]
    answer: PlacementAnswer | None = None
    error: Problem | None = None


def build(request: PlacementRequest) -> Instance:
    """The request as a placement problem; InputError says what contradicts what."""
    nodes = request.infrastructure.nodes
    names = [node.name for node in nodes]
    pods = sum(1 + len(application.microservices) for application in request.applications)
    if pods > MOST_PODS:
        raise InputError(f"{pods} pods; this service takes at most {MOST_PODS}")
    if len(set(names)) != len(names):
        raise InputError("infrastructure.nodes: two nodes carry the same name")
    try:
        links = LinkGraph(names, [_link(link) for link in request.infrastructure.links])
    except ValueError as error:
        raise InputError(f"infrastructure.links: {error}") from None
    return Instance(
        hosts=tuple(
            Host(
                name=node.name,
                tier=node.tier,
                free=(node.cpu_millicores, node.memory_bytes),
                price=node.price_per_hour,
                in_use=node.in_use,
            )
            for node in nodes
        ),
        applications=tuple(_application(application) for application in request.applications),
        control=tuple(dict.fromkeys(request.infrastructure.control_nodes)),
        distance=np.asarray(links.matrix(names)),
        links=links,
    )


def _link(link: NetworkLink) -> Link:
    return Link(
        link.a,
        link.b,
        latency_ms=link.latency_ms,
        bandwidth=float("inf") if link.bandwidth_bps is None else link.bandwidth_bps,
        jitter_ms=link.jitter_ms,
        loss=link.loss,
    )


def _application(application: AsyncApplication) -> QueueApplication:
    return QueueApplication(
        name=application.name,
        queue=_component(application.queue),
        microservices=tuple(_component(pod) for pod in application.microservices),
        max_delay_ms=application.max_delay_ms,
    )


def _component(pod: Pod) -> Component:
    qos = None
    if pod.channel is not None:
        qos = QosRequirement(
            max_latency_ms=pod.channel.max_latency_ms,
            min_bandwidth=pod.channel.min_bandwidth_bps,
            max_jitter_ms=pod.channel.max_jitter_ms,
            max_loss=pod.channel.max_loss,
        )
    return Component(name=pod.name, demand=(pod.cpu_millicores, pod.memory_bytes), pinned=pod.node, qos=qos)


def answer(
    instance: Instance, placement: Placement, *, policy: Policy, stages: tuple[Stage, ...], proven: bool
) -> PlacementAnswer:
    objective = msgspec.convert(as_objective(figures(instance, placement)), ObjectiveAnswer)
    return PlacementAnswer(
        policy=policy,
        applications=[
            _placed(instance, application, hosts, placement.reasons.get(application.name))
            for application, hosts in zip(instance.applications, placement.hosts, strict=True)
        ],
        objective=objective,
        stages=[stage_answer(stage) for stage in stages],
        proven=proven,
    )


def stage_answer(stage: Stage) -> StageAnswer:
    finite = bool(np.isfinite(stage.bound))
    return StageAnswer(
        name=stage.name,
        value=stage.value,
        bound=stage.bound if finite else None,
        gap=stage.gap if finite else None,
        proven=stage.status == "optimal",
    )


def _placed(
    instance: Instance, application: QueueApplication, hosts: tuple[int, ...] | None, reason: str | None
) -> PlacedApplication:
    if hosts is None:
        return PlacedApplication(name=application.name, placed=False, pods=[], reason=reason)
    pods = []
    for i, (component, host) in enumerate(zip(application.components, hosts, strict=True)):
        delay = None if i == 0 else float(instance.delay(component)[hosts[0], host])
        finite = delay if delay is not None and np.isfinite(delay) else None
        pods.append(PlacedPod(name=component.name, node=instance.hosts[host].name, latency_ms=finite))
    return PlacedApplication(name=application.name, placed=True, pods=pods)
