"""A scenario as values: seconds, bytes, bytes per second, millicores, probabilities.

These are what the reader makes of a file and what the simulator reads; they know neither YAML nor defaults of units.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

from ecotone.model.selectors import Taint


@dataclass(frozen=True, slots=True)
class NodeSpec:
    name: str
    cpu: int  # millicores
    memory: int  # bytes
    tier: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    price: float = 0.0
    pods: int = 110


@dataclass(frozen=True, slots=True)
class Link:
    """One link's qualities. Seconds, bytes per second, probability."""

    rtt: float = 0.0
    jitter: float = 0.0
    bandwidth: float = inf
    loss: float = 0.0

    @property
    def plain(self) -> bool:
        return self.jitter == 0.0 and self.loss == 0.0 and self.bandwidth == inf


REGISTRY = 100e6 / 8  # bytes per second at which a node pulls images


@dataclass(frozen=True, slots=True)
class NetworkSpec:
    default: Link = Link()
    links: tuple[tuple[tuple[str, str], Link], ...] = ()
    shortest_path: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """One call inside a stage."""

    service: str
    endpoint: str
    protocol: str = "HTTP"
    new_connection: bool = False
    probability: float = 1.0
    count: int = 1
    request: float = 0.0
    response: float = 0.0
    detached: bool = False  # `async`: the caller does not wait
    deadline: float | None = None  # what the policy is asked to keep the round trip within; nothing ends a late call
    soft: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    name: str
    cpu_mean: float = 0.0
    cpu_constant: bool = False
    stages: tuple[tuple[Call, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget: one of the two."""

    max_unavailable: int | None = None
    min_available: int | None = None


UNIFORM, SAME_ZONE, SAME_NODE = "uniform", "same-zone", "same-node"
BALANCES = (UNIFORM, SAME_ZONE, SAME_NODE)  # which of a service's ready pods a call goes to


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    replicas: int = 1
    cpu_request: int | None = None  # millicores
    memory_request: int | None = None
    cpu_limit: int | None = None
    memory_limit: int | None = None
    memory_use: int | None = None  # of one pod; None: what it requests
    image: float = 0.0  # bytes to pull before the first start on a node
    index: int | None = None
    external: bool = False
    proxy_cpu: float = 0.0  # seconds of CPU at the output proxy, per call
    proxy_rtt: float = 0.0  # between the output proxy and the server outside
    pinned: str | None = None
    prefer_tier: str | None = None
    prefer_weight: int = 1
    startup: float = 0.0
    balance: str = UNIFORM
    max_latency: float | None = None
    role: str | None = None
    group: str | None = None  # the application it belongs to, where a scenario has several
    grace: float = 30.0
    budget: Budget | None = None
    tolerates: tuple[str, ...] = ()  # keys of taints
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)

    @property
    def memory_in_use(self) -> int:
        return (self.memory_request or 0) if self.memory_use is None else self.memory_use


@dataclass(frozen=True, slots=True)
class Autoscale:
    """One of two targets: `cpu`, a share of the request, or `requests` per second and pod. `settle`: a scale-down goes to
    the highest recommendation of so many seconds."""

    cpu: float | None = None
    least: int = 1
    most: int = 10
    requests: float | None = None
    settle: float = 300.0


@dataclass(frozen=True, slots=True)
class Application:
    name: str
    services: tuple[Service, ...]
    traces: Mapping[str, tuple[tuple[float, int], ...]] = field(default_factory=dict)
    autoscale: Mapping[str, Autoscale] = field(default_factory=dict)

    def service(self, name: str) -> Service:
        return next(service for service in self.services if service.name == name)

    def endpoint(self, service: str, endpoint: str) -> Endpoint:
        return self.service(service).endpoints[endpoint]


@dataclass(frozen=True, slots=True)
class Load:
    """One phase of load: either `poisson` arrivals per second, or `users` with `every` or `think`."""

    at: float
    length: float
    service: str
    endpoint: str
    sources: tuple[str, ...]
    poisson: float = 0.0
    users: int = 0
    every: float | None = None
    think: float | None = None
    new_connection: bool = False
    request: float = 0.0
    response: float = 0.0


@dataclass(frozen=True, slots=True)
class LinkChange:
    at: float
    between: tuple[str, str]
    qualities: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NodeChange:
    at: float
    node: str
    state: str  # up, down, cordoned, uncordoned


@dataclass(frozen=True, slots=True)
class Control:
    """Periods of the loops, the window of the monitoring queries, and what it takes until a dead node is noticed.

    The defaults of the latter are Kubernetes' own (node-monitor-grace-period of 1.36, the toleration that every pod gets of
    an unreachable node), and an ordinary client's time-out.
    """

    scrape: float = 15.0
    monitor: float = 30.0
    deschedule: float = 30.0
    window: float = 60.0
    probe: float = 5.0
    node_grace: float = 50.0
    toleration: float = 300.0
    timeout: float = 10.0  # after which a caller gives up on a node that does not answer


@dataclass(frozen=True, slots=True)
class Qos:
    latency: Mapping[str, float] = field(default_factory=dict)  # tier -> seconds
    targets: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    duration: float
    warmup: float
    nodes: tuple[NodeSpec, ...]
    network: NetworkSpec
    application: Application
    load: tuple[Load, ...] = ()
    link_changes: tuple[LinkChange, ...] = ()
    node_changes: tuple[NodeChange, ...] = ()
    control: Control = Control()
    qos: Qos | None = None
    registry: float = REGISTRY
    description: str = ""
