"""The paper's two scenarios (section VII, Fig. 2): the taxi application on seven edge nodes, with and without a cloud.

Link delays are those of the prototype's own topology, resources and prices those of the paper's text. The pods stand
in the order of the application's manifests (queue, storage, load generator, two aggregators): First-fit's published
placement depends on it.
"""

from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication, distances_from_links
from ecotone.placement.problem.links import Link, LinkGraph

MIB = 2**20
DELAY_BOUND_MS = 50.0
EDGE = ("cn", "w1", "w2", "w3", "w4", "w5", "w6")
LINKS_MS = (
    ("cn", "w1", 15),
    ("w1", "w2", 80),
    ("cn", "w3", 20),
    ("cn", "w4", 10),
    ("w4", "w5", 20),
    ("w3", "w4", 10),
    ("w5", "w6", 75),
)
CLOUD_MS = 40
SCENARIO_1_MEMORY_MIB = {"cn": 2048, "w1": 1024, "w2": 1024, "w3": 2048, "w4": 1024, "w5": 1024, "w6": 2048}
CLOUD_TYPES = (("small", 4000, 4096, 2.0), ("medium", 8000, 8192, 4.0), ("large", 16000, 16384, 8.0))
CLOUD_NODES_PER_TYPE = 10
PODS = (
    ("queue", 2000, 2048),
    ("storage", 1000, 1024),
    ("iot", 250, 256),
    ("aggregator-bronx", 500, 512),
    ("aggregator-brooklyn", 500, 512),
)


def taxi_application(name: str, max_delay_ms: float = DELAY_BOUND_MS) -> QueueApplication:
    queue, *others = (Component(name=pod, demand=(cpu, memory * MIB)) for pod, cpu, memory in PODS)
    return QueueApplication(name=name, queue=queue, microservices=tuple(others), max_delay_ms=max_delay_ms)


def scenario_1() -> Instance:
    """One application, seven Raspberry Pis with 1 or 2 GiB, no cloud."""
    hosts = [Host(name=n, tier="edge", free=(4000, SCENARIO_1_MEMORY_MIB[n] * MIB)) for n in EDGE]
    return _instance(hosts, 1)


def scenario_2(applications: int = 8) -> Instance:
    """Eight (or more) applications, seven Raspberry Pis with 4 GiB, thirty rentable cloud nodes."""
    hosts = [Host(name=n, tier="edge", free=(4000, 4096 * MIB)) for n in EDGE]
    for kind, cpu, memory, price in CLOUD_TYPES:
        hosts += [
            Host(name=f"{kind}-{k}", tier="cloud", free=(cpu, memory * MIB), price=price)
            for k in range(CLOUD_NODES_PER_TYPE)
        ]
    return _instance(hosts, applications)


def _instance(hosts: list[Host], applications: int) -> Instance:
    links = [Link(a, b, float(ms)) for a, b, ms in LINKS_MS]
    cloud = [host.name for host in hosts if host.tier == "cloud"]
    links += [Link("cn", name, float(CLOUD_MS)) for name in cloud]
    links += [Link(a, b, 0.0) for k, a in enumerate(cloud) for b in cloud[k + 1 :]]
    graph = LinkGraph([host.name for host in hosts], links)
    return Instance(
        hosts=tuple(hosts),
        applications=tuple(taxi_application(f"taxi-{k}") for k in range(applications)),
        control=("cn",),
        distance=distances_from_links(hosts, graph),
        links=graph,
    )
