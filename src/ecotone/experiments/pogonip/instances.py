"""Instances beyond the paper's two, made from a seed.

`random_small` makes instances that brute force can still enumerate: odd capacities, several delay bounds, sometimes
no cloud, sometimes a cloud that is too small. `edge_cluster` makes large ones for the scaling curves: nodes scattered
over a square, linked to their nearest neighbours with delays by distance (multiples of 5 ms, like the paper's),
Raspberry Pis of 1, 2 and 4 GiB, and cloud hosts behind the control node. Bound and density are chosen so that a queue
has tens of candidate nodes, not all of them: that is what makes an edge an edge.
"""

from dataclasses import replace

import numpy as np

from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication
from ecotone.placement.problem.links import Link, LinkGraph
from ecotone.placement.problem.taxi import CLOUD_TYPES, MIB, PODS, taxi_application


def random_small(seed: int, *, priced: bool = False) -> Instance:
    """Two to four edge nodes, at most six pods; `priced`: every edge node has its price."""
    plain = _random_small(seed)
    if not priced:
        return plain
    draw = np.random.default_rng([seed, 11])
    hosts = [
        replace(host, price=float(draw.integers(10, 110)) / 20) if host.tier == "edge" else host for host in plain.hosts
    ]
    return replace(plain, hosts=tuple(hosts))


def _random_small(seed: int) -> Instance:
    draw = np.random.default_rng([seed, 7])
    edge = int(draw.integers(2, 5))
    hosts = [
        Host(name=f"e{k}", tier="edge", free=(int(draw.integers(2, 11)) * 250, int(draw.integers(2, 11)) * 256))
        for k in range(edge)
    ]
    cloud = int(draw.choice([0, 1, 2, 3], p=[0.2, 0.2, 0.3, 0.3]))
    hosts += [
        Host(
            name=f"c{k}",
            tier="cloud",
            free=(int(draw.integers(1, 9)) * 250, int(draw.integers(1, 9)) * 256),
            price=float(draw.integers(1, 6)),
        )
        for k in range(cloud)
    ]
    between = draw.integers(1, 12, size=(edge, edge)) * 5.0
    distance = np.zeros((len(hosts), len(hosts)))
    distance[:edge, :edge] = np.triu(between, 1) + np.triu(between, 1).T
    distance[:edge, edge:] = (distance[0, :edge] + 40.0)[:, None]
    distance[edge:, :edge] = distance[:edge, edge:].T
    shapes = [_shape(draw) for _ in range(2)]
    applications: list[QueueApplication] = []
    pods = 0
    while pods < 5:
        queue, others, bound = shapes[int(draw.integers(2))]
        if pods + 1 + len(others) > 6:
            break
        pods += 1 + len(others)
        applications.append(
            QueueApplication(name=f"a{len(applications)}", queue=queue, microservices=others, max_delay_ms=bound)
        )
    return Instance(hosts=tuple(hosts), applications=tuple(applications), control=("e0",), distance=distance)


def _shape(draw: np.random.Generator) -> tuple[Component, tuple[Component, ...], float]:
    def component(name: str, most: int) -> Component:
        return Component(name=name, demand=(int(draw.integers(1, most)) * 250, int(draw.integers(1, most)) * 256))

    others = tuple(component(f"m{k}", 4) for k in range(int(draw.integers(1, 4))))
    return component("q", 5), others, float(draw.integers(2, 9) * 5)


def edge_cluster(
    *, nodes: int, applications: int, classes: int | None, seed: int = 0, cloud: int = 60, bound_ms: float = 50.0
) -> Instance:
    """A large cluster. `classes` kinds of application in turn; None makes every application different."""
    draw = np.random.default_rng([seed, nodes, applications])
    position = draw.random((nodes, 2))
    position[0] = 0.5
    graph = LinkGraph([f"e{k}" for k in range(nodes)] + [f"c{k}" for k in range(cloud)], _links(position, draw, cloud))
    memory = draw.choice([1024, 2048, 4096], size=nodes)
    hosts = [Host(name=f"e{k}", tier="edge", free=(4000, int(memory[k]) * MIB)) for k in range(nodes)]
    for k in range(cloud):
        _, cpu, amount, price = CLOUD_TYPES[k % len(CLOUD_TYPES)]
        hosts.append(Host(name=f"c{k}", tier="cloud", free=(cpu, amount * MIB), price=price))
    kinds = [_kind(draw) for _ in range(applications if classes is None else classes)]
    return Instance(
        hosts=tuple(hosts),
        applications=tuple(
            QueueApplication(name=f"a{k}", queue=queue, microservices=others, max_delay_ms=bound_ms)
            for k, (queue, others) in enumerate(kinds[k % len(kinds)] for k in range(applications))
        ),
        control=("e0",),
        distance=graph.distances(),
        links=graph,
    )


def taxi_cluster(*, nodes: int, applications: int, sizes: int, seed: int = 0) -> Instance:
    """The same cluster with the paper's application in up to three sizes: as published, half and half again as large."""
    plain = edge_cluster(nodes=nodes, applications=0, classes=1, seed=seed)
    return replace(plain, applications=tuple(_sized(f"taxi-{k}", (2, 1, 3)[k % sizes]) for k in range(applications)))


def _sized(name: str, halves: int) -> QueueApplication:
    taxi = taxi_application(name)

    def resize(component: Component) -> Component:
        return replace(component, demand=tuple(amount * halves // 2 for amount in component.demand))

    return replace(taxi, queue=resize(taxi.queue), microservices=tuple(resize(c) for c in taxi.microservices))


def _links(position: np.ndarray, draw: np.random.Generator, cloud: int, neighbours: int = 4) -> list[Link]:
    nodes = len(position)
    # A link to the k-th nearest neighbour of n uniform nodes is about sqrt(k / (pi n)) long: delays stay comparable
    # whatever the number of nodes, and 50 ms reaches a few tens of them.
    scale = 12.0 * np.sqrt(nodes)
    pairs: dict[tuple[int, int], float] = {}
    order = list(range(nodes))
    for k in order:
        away = np.hypot(*(position - position[k]).T)
        for other in np.argsort(away)[1 : neighbours + 1]:
            pair = (min(k, int(other)), max(k, int(other)))
            pairs[pair] = max(5.0, 5.0 * round(float(away[other]) * scale * float(draw.uniform(0.8, 1.6)) / 5.0))
    links = [Link(f"e{a}", f"e{b}", ms) for (a, b), ms in pairs.items()]
    # Cloud hosts hang on the control node through one another's switch, so that the clique of the paper costs n links.
    links += [Link("e0", "c0", 40.0)] if cloud else []
    links += [Link("c0", f"c{k}", 0.0) for k in range(1, cloud)]
    return links


def _kind(draw: np.random.Generator) -> tuple[Component, tuple[Component, ...]]:
    def vary(name: str, cpu: int, memory: int) -> Component:
        steps = int(draw.integers(2, 7))
        return Component(name=name, demand=(cpu * steps // 4, memory * steps // 4 * MIB))

    _, *others = PODS
    queue = Component(name="queue", demand=(1000, int(draw.integers(3, 9)) * 256 * MIB))
    return queue, tuple(vary(*pod) for pod in others)
