"""The paper's scenarios as a Kubernetes cluster, for tests."""

from collections.abc import Iterable

from builders import cluster, node, pod
from ecotone.model.objects import Node, Pod
from ecotone.model.snapshot import Snapshot
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.taxi import PODS, scenario_1, scenario_2
from ecotone.scheduling.plugins.pogonip.application import CONTROL_LABEL, QUEUE_ROLE


def nodes_of(instance: Instance, *, links_only: bool = False) -> list[Node]:
    """The hosts with their delays as annotations: all pairs, or the links alone."""
    found = []
    for i, host in enumerate(instance.hosts):
        names = [other.name for other in instance.hosts if other.name != host.name]
        if links_only:
            assert instance.links is not None
            names = [name for name in names if instance.links.link(host.name, name) is not None]
        found.append(
            node(
                host.name,
                cpu=f"{host.free[0]}m",
                memory=str(host.free[1]),
                labels={CONTROL_LABEL: ""} if host.name in instance.control else {},
                tier=host.tier,
                price_per_hour=host.price,
                latencies={name: float(instance.distance[i, instance.index[name]]) for name in names},
            )
        )
    return found


def taxi_pods(name: str, *, created: float = 0.0, bound: float = 50.0) -> list[Pod]:
    """The five pods of one application."""
    return [
        pod(
            f"{name}-{part}-0",
            cpu=f"{cpu}m",
            memory=f"{memory}Mi",
            app_group=name,
            role=QUEUE_ROLE if part == "queue" else None,
            max_latency_ms=bound,
            labels={"app-group": name, "app": f"{name}-{part}"},
            created=created + k / 100,
        )
        for k, (part, cpu, memory) in enumerate(PODS)
    ]


def snapshot(instance: Instance, pods: Iterable[Pod], *, links_only: bool = False) -> Snapshot:
    return cluster(nodes_of(instance, links_only=links_only), pods).freeze()


def first(**more: bool) -> Snapshot:
    return snapshot(scenario_1(), taxi_pods("taxi"), **more)


def second(applications: int = 8, **more: bool) -> Snapshot:
    pods = [each for k in range(applications) for each in taxi_pods(f"taxi{k}", created=float(k))]
    return snapshot(scenario_2(), pods, **more)
