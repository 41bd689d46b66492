"""Pogonip's plugins on a real API server: the paper's second scenario, and an application that cannot be placed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import scheduler
from control_plane.waiting import clear, condition, notes, placement, wait_bound
from ecotone.placement.checker import violations
from ecotone.placement.instance import Instance
from ecotone.placement.solution import Placement, figures
from ecotone.placement.taxi import PODS, scenario_2


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True)
    yield cluster
    cluster.stop()


@pytest.fixture(autouse=True)
def empty(cluster: Cluster) -> Iterator[None]:
    yield
    clear(cluster)


def nodes(instance: Instance) -> list[dict[str, Any]]:
    found = []
    for i, host in enumerate(instance.hosts):
        labels = {"ecotone.dev/tier": host.tier, "ecotone.dev/price-per-hour": f"{host.price:g}"}
        if host.name in instance.control:
            labels["node-role.kubernetes.io/control-plane"] = ""
        delays = {other.name: float(instance.distance[i, k]) for k, other in enumerate(instance.hosts) if k != i}
        memory = f"{host.free[1] // 2**20}Mi"
        annotations = {"ecotone.dev/latencies": json.dumps(delays)}
        found.append(node(host.name, cpu=f"{host.free[0]}m", memory=memory, labels=labels, annotations=annotations))
    return found


def application(name: str, *, queue_memory: int | None = None) -> list[dict[str, Any]]:
    pods = []
    for part, cpu, memory in PODS:
        labels = {"app": f"{name}-{part}", "app-group": name}
        if part == "queue":
            labels["ecotone.dev/role"] = "message-queue"
            memory = queue_memory or memory
        annotations = {"ecotone.dev/max-latency": "50ms"}
        pods.append(pod(f"{name}-{part}", cpu=f"{cpu}m", memory=f"{memory}Mi", labels=labels, annotations=annotations))
    return pods


def as_placement(instance: Instance, where: dict[str, str]) -> Placement:
    return Placement(
        hosts=tuple(
            tuple(instance.index[where[f"{each.name}-{component.name}"]] for component in each.components)
            for each in instance.applications
        )
    )


def test_the_second_scenario_is_deployed_and_what_cannot_be_waits_as_a_whole(cluster: Cluster) -> None:
    instance = scenario_2()
    cluster.create(*nodes(instance))
    # First in line and impossible: no edge node has 16 GiB. Nobody may wait for it.
    cluster.create(*application("a-giant", queue_memory=16384))
    cluster.create(*(each for taxi in instance.applications for each in application(taxi.name)))
    program = scheduler(cluster, policy="pogonip-plugins").wait_ready()
    try:
        where = wait_bound(cluster, 40, child=program.child, timeout=60)
        placed = as_placement(instance, where)
        assert violations(instance, placed) == []
        found = figures(instance, placed)
        assert (found.apps_placed, found.edge_nodes_used, found.cloud_cost_per_hour) == (8, 5, 8.0)
        giant = [f"a-giant-{part}" for part, _, _ in PODS]
        wait_until(lambda: all(condition(cluster, name) for name in giant), timeout=15, what="verdicts")
        assert not any(name in placement(cluster) for name in giant)
        assert "Insufficient memory" in condition(cluster, "a-giant-queue")
        assert condition(cluster, "a-giant-iot").startswith("default/a-giant waits as a whole: default/a-giant-queue")
        wait_until(lambda: bool(notes(cluster, "FailedScheduling", "a-giant-queue")), timeout=10, what="event")
    finally:
        program.stop()


def test_a_waiting_application_is_placed_as_a_whole_when_there_is_room(cluster: Cluster) -> None:
    instance = scenario_2()
    few = [each for each in nodes(instance) if each["metadata"]["name"] in ("cn", "w2")]
    small = {"cpu": "1", "memory": "1Gi"}
    for each in few:
        each["status"]["capacity"].update(small)
        each["status"]["allocatable"].update(small)
    cluster.create(*few, *application("taxi-0"))
    program = scheduler(cluster, policy="pogonip-plugins").wait_ready()
    try:
        wait_until(lambda: bool(condition(cluster, "taxi-0-storage")), timeout=20, what="verdict", child=program.child)
        assert placement(cluster) == {}
        cluster.create(*(each for each in nodes(instance) if each["metadata"]["name"] in ("w1", "w3", "w4", "w5")))
        assert len(wait_bound(cluster, 5, child=program.child, timeout=60)) == 5
    finally:
        program.stop()
