"""Optimal placements by trying everything: slow, short, and sharing nothing with the models it judges."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ecotone.placement.problem.instance import Host, Instance, QueueApplication

Rank = tuple[int, int, float, float, float]


def best_rank(instance: Instance) -> Rank:
    """The lexicographic optimum over every admissible placement, rejection included."""
    free = [list(host.free) for host in instance.hosts]
    best: list[Rank] = []

    def walk(a: int, rejected: int, forwarded: int, used: frozenset[int], delay: float) -> None:
        if best and (rejected, forwarded) > best[0][:2]:
            return
        if a == len(instance.applications):
            edge = opening(instance, used)
            price = sum(instance.hosts[h].price for h in used if instance.hosts[h].tier == "cloud")
            rank = (rejected, forwarded, round(edge, 6), round(delay, 6), round(price, 6))
            if not best or rank < best[0]:
                best[:] = [rank]
            return
        application = instance.applications[a]
        for hosts in placements(instance, application, free):
            far = sum(instance.hosts[h].tier == "cloud" for h in hosts)
            cost = sum(float(instance.distance[hosts[0], h]) for h in hosts[1:])
            walk(a + 1, rejected, forwarded + far, used | frozenset(hosts), delay + cost)
        walk(a + 1, rejected + 1, forwarded, used, delay)

    walk(0, 0, 0, frozenset(), 0.0)
    return best[0]


def opening(instance: Instance, used: frozenset[int]) -> float:
    """F of equation (1): edge nodes by their prices, or one each where none has a price."""
    edge = [host for host in instance.hosts if host.tier == "edge"]
    priced = any(host.price for host in edge)
    return sum((host.price if priced else 1.0) for h in used if (host := instance.hosts[h]).tier == "edge")


def placements(instance: Instance, application: QueueApplication, free: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Every way to place one application on what is free; `free` reflects the placement while it is out."""
    control = instance.index[instance.control[0]]
    chosen: list[int] = []

    def fits(host: int, demand: tuple[int, ...]) -> bool:
        return all(have >= want for have, want in zip(free[host], demand, strict=True))

    def extend(i: int) -> Iterator[tuple[int, ...]]:
        if i == len(application.components):
            yield tuple(chosen)
            return
        demand = application.components[i].demand
        for host, description in enumerate(instance.hosts):
            if i == 0:
                ok = description.tier == "edge" and instance.distance[control, host] <= application.max_delay_ms
            else:
                ok = description.tier == "cloud" or instance.distance[chosen[0], host] <= application.max_delay_ms
            if not ok or not fits(host, demand):
                continue
            for r, amount in enumerate(demand):
                free[host][r] -= amount
            chosen.append(host)
            yield from extend(i + 1)
            chosen.pop()
            for r, amount in enumerate(demand):
                free[host][r] += amount

    yield from extend(0)


def with_endless_cloud(instance: Instance) -> Instance:
    """The same edge with one cloud host that is never full, which is the cloud of the paper's edge problem."""
    edge = list(instance.edge)
    distance = np.zeros((len(edge) + 1, len(edge) + 1))
    distance[:-1, :-1] = instance.distance[np.ix_(edge, edge)]
    distance[:-1, -1] = distance[-1, :-1] = 40.0
    hosts = (*(instance.hosts[h] for h in edge), Host(name="endless", tier="cloud", free=(10**9, 10**9), price=1.0))
    return replace(instance, hosts=hosts, distance=distance, links=None)


def least_g(instance: Instance) -> float | None:
    """The paper's G = nodes + forwarded with every application placed; None when that cannot be."""
    free = [list(host.free) for host in instance.hosts]
    best: list[float] = []

    def walk(a: int, forwarded: int, used: frozenset[int]) -> None:
        if best and forwarded + opening(instance, used) >= best[0]:
            return
        if a == len(instance.applications):
            best[:] = [forwarded + opening(instance, used)]
            return
        for hosts in placements(instance, instance.applications[a], free):
            near = frozenset(h for h in hosts if instance.hosts[h].tier == "edge")
            walk(a + 1, forwarded + sum(instance.hosts[h].tier == "cloud" for h in hosts), used | near)

    walk(0, 0, frozenset())
    return best[0] if best else None
