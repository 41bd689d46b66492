"""The whole-application placement problem, as plain data.

An asynchronous application is a message queue and the microservices around it (Pogonip, section III): the queue must
run on an edge node near the control node, every microservice either on an edge node within the application's delay
bound of its queue or, paid by the hour, in the cloud. The solvers of this package see nothing but this description,
so the same code answers for a Kubernetes snapshot, a request to the resolver, a generated benchmark and a paper's
scenario.

Quantities are integers (millicores, bytes, counts), one per entry of `resources`; delays are milliseconds in one
dense matrix over all hosts. `free` is what is left after everything that already runs. A component with `pinned` runs
there already: it costs nothing more and cannot be moved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from typing import Literal

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.model.errors import InputError
from ecotone.placement.problem.links import LinkGraph, QosRequirement

Tier = Literal["edge", "cloud"]

RESOURCES = ("cpu", "memory")


@dataclass(frozen=True, slots=True)
class Host:
    """A node. `in_use`: it already hosts a component, so opening it costs nothing (the paper's zeta and psi)."""

    name: str
    tier: Tier
    free: tuple[int, ...]
    price: float = 0.0
    in_use: bool = False


@dataclass(frozen=True, slots=True)
class Component:
    """One pod. `allowed` (host names) narrows where it may go; `qos` is what its channel to the queue demands."""

    name: str
    demand: tuple[int, ...]
    pinned: str | None = None
    allowed: frozenset[str] | None = None
    qos: QosRequirement | None = None


@dataclass(frozen=True, slots=True)
class QueueApplication:
    name: str
    queue: Component
    microservices: tuple[Component, ...]
    max_delay_ms: float

    @property
    def components(self) -> tuple[Component, ...]:
        """The queue first, then the microservices in their given order: the order of every assignment."""
        return (self.queue, *self.microservices)


@dataclass(frozen=True)
class Instance:
    hosts: tuple[Host, ...]
    applications: tuple[QueueApplication, ...]
    control: tuple[str, ...]
    distance: Floats
    resources: tuple[str, ...] = RESOURCES
    links: LinkGraph | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        _validate(self)

    @cached_property
    def index(self) -> dict[str, int]:
        return {host.name: i for i, host in enumerate(self.hosts)}

    @cached_property
    def edge(self) -> Ints:
        return np.array([i for i, host in enumerate(self.hosts) if host.tier == "edge"], dtype=np.int64)

    @cached_property
    def cloud(self) -> Ints:
        return np.array([i for i, host in enumerate(self.hosts) if host.tier == "cloud"], dtype=np.int64)

    @cached_property
    def is_edge(self) -> Mask:
        return np.array([host.tier == "edge" for host in self.hosts], dtype=np.bool_)

    @cached_property
    def in_use(self) -> Mask:
        return np.array([host.in_use for host in self.hosts], dtype=np.bool_)

    @cached_property
    def price(self) -> Floats:
        return np.array([host.price for host in self.hosts], dtype=np.float64)

    @cached_property
    def edge_priced(self) -> bool:
        return bool((self.price[self.is_edge] > 0.0).any())

    @cached_property
    def opening(self) -> Floats:
        """What using each host adds to F of equation (1): an edge host's price where edge hosts carry one, else 1."""
        prices = self.price if self.edge_priced else np.ones(len(self.hosts))
        return np.where(self.is_edge, prices, 0.0)

    @cached_property
    def free(self) -> Ints:
        """free[host, resource]; shared and never written: solvers copy it."""
        table = np.array([host.free for host in self.hosts], dtype=np.int64)
        table = table.reshape(len(self.hosts), len(self.resources))
        table.setflags(write=False)
        return table

    @cached_property
    def control_distance(self) -> Floats:
        """Delay from each host to the nearest control node."""
        rows = [self.index[name] for name in self.control]
        return np.asarray(self.distance[rows].min(axis=0), dtype=np.float64)

    def delay(self, component: Component) -> Floats:
        """Delays over the paths the component's channel may use; infinite where none is admissible."""
        if component.qos is None or component.qos.unconstrained_links:
            return self.distance
        assert self.links is not None
        return self.links.matrix([host.name for host in self.hosts], component.qos)

    def allowed(self, component: Component) -> Mask | None:
        """Hosts that the component's own rules permit; None when it has none."""
        if component.pinned is not None:
            mask = np.zeros(len(self.hosts), dtype=np.bool_)
            mask[self.index[component.pinned]] = True
            return mask
        if component.allowed is None:
            return None
        return np.array([host.name in component.allowed for host in self.hosts], dtype=np.bool_)


def delay_bound(application: QueueApplication, component: Component) -> float:
    """The application's bound, or the channel's own where that is stricter."""
    if component.qos is None or component.qos.max_latency_ms is None:
        return application.max_delay_ms
    return min(application.max_delay_ms, component.qos.max_latency_ms)


def distances_from_links(hosts: Sequence[Host], links: LinkGraph) -> Floats:
    return links.matrix([host.name for host in hosts])


def _validate(instance: Instance) -> None:
    count, width = len(instance.hosts), len(instance.resources)
    names = {host.name for host in instance.hosts}
    if len(names) != count:
        raise InputError("two hosts carry the same name")
    if len({application.name for application in instance.applications}) != len(instance.applications):
        raise InputError("two applications carry the same name")
    if instance.distance.shape != (count, count):
        raise InputError(f"the delay matrix is {instance.distance.shape}, not {count} by {count}")
    if count and (np.isnan(instance.distance).any() or (instance.distance < 0).any()):
        raise InputError("delays must be zero or more")
    if instance.applications and not instance.control:
        raise InputError("no control node: queues are bound to its neighbourhood")
    for name in instance.control:
        if name not in names:
            raise InputError(f"control node {name!r} is not among the hosts")
    for host in instance.hosts:
        if len(host.free) != width:
            raise InputError(f"host {host.name!r} states {len(host.free)} resources, not {width}")
    for application in instance.applications:
        _validate_application(instance, application, names)


def _validate_application(instance: Instance, application: QueueApplication, names: set[str]) -> None:
    if not 0 <= application.max_delay_ms < inf:
        raise InputError(f"application {application.name!r}: the delay bound must be a number of zero or more")
    for component in application.components:
        place = f"application {application.name!r}, component {component.name!r}"
        if len(component.demand) != len(instance.resources):
            raise InputError(f"{place}: {len(component.demand)} demands for {len(instance.resources)} resources")
        for resource, amount in zip(instance.resources, component.demand, strict=True):
            if amount < 0 or (amount == 0 and resource in RESOURCES and component.pinned is None):
                raise InputError(f"{place}: {resource} request must be more than zero")
        if component.pinned is not None and component.pinned not in names:
            raise InputError(f"{place}: runs on unknown host {component.pinned!r}")
        if component.qos is not None and not component.qos.unconstrained_links and instance.links is None:
            raise InputError(f"{place}: channel requirements need the list of links")
