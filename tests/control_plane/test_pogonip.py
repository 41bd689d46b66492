"""Pogonip's plugins on a real API server: the paper's second scenario, and an application that cannot be placed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import deployment, node, pod
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone, scheduler
from control_plane.waiting import clear, condition, notes, placement, wait_bound, wait_nodes
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import Placement, figures
from ecotone.placement.problem.taxi import PODS, scenario_2
from fair.waits import patience


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


def arrive_in_two_waves(cluster: Cluster, instance: Instance) -> None:
    """The second half is younger by a whole second, as the API server counts; the first must wait for its queues."""
    taxis = [application(taxi.name) for taxi in instance.applications]
    cluster.create(*(each for taxi in taxis[:4] for each in taxi))
    time.sleep(1.0 - time.time() % 1.0)
    cluster.create(*(each for taxi in taxis[4:] for each in taxi))


def test_the_second_scenario_is_deployed_and_what_cannot_be_waits_as_a_whole(cluster: Cluster) -> None:
    instance = scenario_2()
    cluster.create(*nodes(instance))
    wait_nodes(cluster)
    program = scheduler(cluster, policy="pogonip-plugins").wait_ready()
    try:
        # First in line and impossible: no edge node has 16 GiB. Nobody may wait for it.
        cluster.create(*application("a-giant", queue_memory=16384))
        arrive_in_two_waves(cluster, instance)
        where = wait_bound(cluster, 40, child=program.child, timeout=60)
        placed = as_placement(instance, where)
        assert violations(instance, placed) == []
        found = figures(instance, placed)
        assert (found.apps_placed, found.edge_nodes_used, found.cloud_cost_per_hour) == (8, 5, 8.0)
        giant = [f"a-giant-{part}" for part, _, _ in PODS]
        wait_until(lambda: all(condition(cluster, name) for name in giant), timeout=30, what="verdicts")
        assert not any(name in placement(cluster) for name in giant)
        assert "Insufficient memory" in condition(cluster, "a-giant-queue")
        assert condition(cluster, "a-giant-iot").startswith("default/a-giant waits as a whole: default/a-giant-queue")
        for name in giant:
            wait_until(lambda pod=name: bool(notes(cluster, "FailedScheduling", pod)), timeout=30, what="event")  # type: ignore[misc]
            assert len(notes(cluster, "FailedScheduling", name)) == 1, "one clear event, not a stream of them"
    finally:
        program.stop()


@pytest.mark.parametrize("policy", ["pogonip", "pogonip-opt"])
def test_the_solvers_wait_for_applications_that_still_arrive(cluster: Cluster, policy: str) -> None:
    instance = scenario_2()
    cluster.create(*nodes(instance))
    wait_nodes(cluster)
    program = scheduler(cluster, policy=policy).wait_ready()
    try:
        arrive_in_two_waves(cluster, instance)
        where = wait_bound(cluster, 40, child=program.child, timeout=60)
        placed = as_placement(instance, where)
        assert violations(instance, placed) == []
        assert figures(instance, placed).cloud_cost_per_hour == 8.0
    finally:
        program.stop()


def test_a_waiting_application_is_placed_as_a_whole_when_there_is_room(cluster: Cluster) -> None:
    instance = scenario_2()
    few = [each for each in nodes(instance) if each["metadata"]["name"] in ("cn", "w2")]
    small = {"cpu": "1", "memory": "1Gi"}
    for each in few:
        each["status"]["capacity"].update(small)
        each["status"]["allocatable"].update(small)
    cluster.create(*few)
    wait_nodes(cluster)
    cluster.create(*application("taxi-0"))
    program = scheduler(cluster, policy="pogonip-plugins").wait_ready()
    try:
        wait_until(lambda: bool(condition(cluster, "taxi-0-storage")), timeout=20, what="verdict", child=program.child)
        assert placement(cluster) == {}
        cluster.create(*(each for each in nodes(instance) if each["metadata"]["name"] in ("w1", "w3", "w4", "w5")))
        assert len(wait_bound(cluster, 5, child=program.child, timeout=60)) == 5
    finally:
        program.stop()


def test_deployments_that_arrive_while_the_scheduler_runs_are_placed_as_a_whole_or_not_at_all(cluster: Cluster) -> None:
    """Pods appear one by one; the workloads' replica counts say how many to wait for."""
    instance = scenario_2()
    cluster.create(*nodes(instance))
    wait_nodes(cluster)
    program = scheduler(cluster, policy="pogonip-plugins").wait_ready()
    try:
        impossible = deployments("giant")
        impossible[-1]["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = "64Gi"
        cluster.create(*impossible)
        cluster.create(*deployments("taxi-0"))

        def bound(group: str) -> list[str]:
            return [name for name in placement(cluster) if name.startswith(group)]

        wait_until(lambda: len(bound("taxi-0")) == 5, timeout=60, what="the possible application", child=program.child)
        waiting = [pod["metadata"]["name"] for pod in cluster.pods("default")]
        giant = [name for name in waiting if name.startswith("giant")]
        assert len(giant) == 5
        wait_until(lambda: all(condition(cluster, name) for name in giant), timeout=20, what="verdicts")
        assert bound("giant") == []
    finally:
        program.stop()
        for each in cluster.list("/apis/apps/v1/namespaces/default/deployments"):
            cluster.call("DELETE", f"/apis/apps/v1/namespaces/default/deployments/{each['metadata']['name']}")


def test_a_plan_applied_as_node_affinity_holds_under_any_scheduler(cluster: Cluster) -> None:
    cluster.create(*nodes(scenario_2()), *deployments("taxi-0"))
    wait_until(lambda: len(cluster.pods("default")) == 5, timeout=30, what="pods of the deployments")
    wait_nodes(cluster)
    path = "/apis/apps/v1/namespaces/default/deployments"
    templates = [each["spec"]["template"] for each in cluster.list(path)]
    arguments = ("apply", "--policy=pogonip-opt", "--affinity", "-o", "json")
    try:
        code, told, problems = run_ecotone(cluster, *arguments, "--dry-run")
        assert code == 0, problems
        steps = json.loads(told)["steps"]
        planned = {one["workload"].removeprefix("default/"): one["nodes"] for one in steps}
        assert len(planned) == 5 and all(len(where) == 1 for where in planned.values())
        assert [each["spec"]["template"] for each in cluster.list(path)] == templates, "a dry run changes nothing"
        code, told, problems = run_ecotone(cluster, *arguments)
        assert code == 0, problems
        assert json.loads(told)["steps"] == steps
        program = scheduler(cluster, policy="kube-default").wait_ready()
        try:

            def arrived() -> bool:
                where = placement(cluster)
                return all([node for pod, node in where.items() if pod.startswith(f"{name}-")] == goal
                           for name, goal in planned.items())  # fmt: skip

            wait_until(arrived, timeout=60, what="the planned nodes", child=program.child)
        finally:
            program.stop()
        code, told, _ = run_ecotone(cluster, *arguments)
        assert (code, json.loads(told)["steps"]) == (0, []), "nothing waits any more"
    finally:
        for each in cluster.list(path):
            cluster.call("DELETE", f"{path}/{each['metadata']['name']}")


def deployments(name: str) -> list[dict[str, Any]]:
    found = []
    for template in application(name):
        labels = template["metadata"]["labels"]
        found.append(
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": template["metadata"]["name"], "namespace": "default", "labels": labels},
                "spec": {
                    "replicas": 1,
                    "selector": {"matchLabels": {"app": labels["app"]}},
                    "template": {
                        "metadata": {key: template["metadata"][key] for key in ("labels", "annotations")},
                        "spec": {**template["spec"], "terminationGracePeriodSeconds": 0},
                    },
                },
            }
        )
    return found


def test_an_application_that_arrives_deployment_by_deployment_is_placed_as_a_whole_once_it_is_there(
    cluster: Cluster,
) -> None:
    """Under `ecotone`: web and api would each take the emptier node, and their database is bound to the other one."""
    for name, cpu in (("a1", "16"), ("a2", "8")):
        far = {"ecotone.dev/latencies": json.dumps({"a1": 80.0, "a2": 80.0})}
        cluster.create(node(name, cpu=cpu, annotations=far))
    wait_nodes(cluster)
    channels = {"web": {"api": 100}, "api": {"web": 100, "db": 100}, "db": {"api": 100}}
    pinned: dict[str, Any] = {"db": {"nodeSelector": {"kubernetes.io/hostname": "a2"}}}
    program = scheduler(cluster, policy="ecotone").wait_ready()
    try:
        for name, peers in channels.items():
            made = deployment(name, labels={"app-group": "shop"}, **pinned.get(name, {}))
            made["metadata"]["labels"] = {"app-group": "shop"}
            made["spec"]["template"]["metadata"]["annotations"] = {"ecotone.dev/affinity": json.dumps(peers)}
            cluster.call("POST", "/apis/apps/v1/namespaces/default/deployments", made)
            time.sleep(0.5)
        complete = time.monotonic()
        where = wait_bound(cluster, 3, child=program.child)
        assert time.monotonic() - complete < 2.0 * patience(), "nobody waits for more than is missing"
    finally:
        program.stop()
        for name in channels:
            cluster.call("DELETE", f"/apis/apps/v1/namespaces/default/deployments/{name}")
    assert set(where.values()) == {"a2"}
