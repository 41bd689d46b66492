"""What a placement solver answers, and the figures by which answers are compared.

An answer is one host per component of every admitted application, queue first, and a reason for every application
that was not admitted. Whole applications only: one that lacks a single pod is not placed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ecotone.placement.problem.instance import Instance


@dataclass(frozen=True, slots=True)
class Placement:
    """`hosts[a]` lists host indices of application a's components, or is None for a rejected application."""

    hosts: tuple[tuple[int, ...] | None, ...]
    reasons: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Latency:
    """Delay between microservices and their queues over all placed applications; None when there is none."""

    mean: float | None
    median: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    apps_placed: int
    apps_rejected: int
    edge_nodes_used: int
    edge_cost_per_hour: float
    edge_opening: float
    forwarded_to_cloud: int
    cloud_cost_per_hour: float
    latency_ms: Latency
    latency_total_ms: float
    edge_pods: int

    @property
    def rank(self) -> tuple[int, int, float, float, float]:
        """Lexicographic worth, smaller is better: applications, microservices kept, nodes in use, delay, price.

        Nodes in use count by their prices where edge nodes carry any (`Instance.opening`), one each otherwise.
        """
        return (
            self.apps_rejected,
            self.forwarded_to_cloud,
            round(self.edge_opening, 6),
            round(self.latency_total_ms, 6),
            round(self.cloud_cost_per_hour, 6),
        )


def latencies(instance: Instance, placement: Placement) -> list[float]:
    """Delay from every placed microservice to its queue, over the path its channel uses."""
    values: list[float] = []
    for application, hosts in zip(instance.applications, placement.hosts, strict=True):
        if hosts is not None:
            queue = hosts[0]
            values += [
                float(instance.delay(component)[queue, host])
                for component, host in zip(application.microservices, hosts[1:], strict=True)
            ]
    return values


def figures(instance: Instance, placement: Placement) -> Figures:
    used = instance.in_use.copy()
    forwarded = edge_pods = 0
    for hosts in placement.hosts:
        if hosts is not None:
            used[list(hosts)] = True
            forwarded += sum(not instance.is_edge[host] for host in hosts[1:])
            edge_pods += sum(bool(instance.is_edge[host]) for host in hosts)
    delays = latencies(instance, placement)
    placed = sum(hosts is not None for hosts in placement.hosts)
    return Figures(
        apps_placed=placed,
        apps_rejected=len(placement.hosts) - placed,
        edge_nodes_used=int((used & instance.is_edge).sum()),
        edge_cost_per_hour=float(instance.price[used & instance.is_edge].sum()),
        edge_opening=float(instance.opening[used].sum()),
        forwarded_to_cloud=forwarded,
        cloud_cost_per_hour=float(instance.price[used & ~instance.is_edge].sum()),
        latency_ms=Latency(
            mean=float(np.mean(delays)) if delays else None,
            median=float(np.median(delays)) if delays else None,
            max=max(delays) if delays else None,
        ),
        latency_total_ms=float(sum(delays)),
        edge_pods=edge_pods,
    )


def better(instance: Instance, one: Placement, other: Placement) -> Placement:
    """The one that ranks before the other; the first on equal rank."""
    return other if figures(instance, other).rank < figures(instance, one).rank else one
