"""Preemption: the same victims as the real kube-scheduler takes, in its documented cases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.waiting import clear, condition, notes, placement

MERGE = "application/merge-patch+json"
CLASSES = {"low": 10, "middle": 50, "high": 100}


@dataclass
class Runner:
    """A running pod: its priority class, node, size, budget label and start."""

    name: str
    priority: str
    node: str
    cpu: str = "1"
    app: str = "none"
    start: str = "2026-01-01T00:00:00Z"


@dataclass
class Scene:
    nodes: list[dict[str, Any]]
    runners: list[Runner]
    cpu: str = "1"
    priority: str = "high"
    budgets: dict[str, int] = field(default_factory=dict)
    """app -> disruptions allowed"""
    victims: set[str] = field(default_factory=set)


SCENES = {
    "the lowest priority goes": Scene(
        [node("n1", cpu="1"), node("n2", cpu="1")],
        [Runner("a", "middle", "n1"), Runner("b", "low", "n2")],
        victims={"b"},
    ),
    "a spent budget is spared if another node will do": Scene(
        [node("n1", cpu="1"), node("n2", cpu="1")],
        [Runner("a", "low", "n1", app="guarded"), Runner("b", "middle", "n2")],
        budgets={"guarded": 0},
        victims={"b"},
    ),
    "a spent budget is violated if nothing else will do": Scene(
        [node("n1", cpu="1")],
        [Runner("a", "low", "n1", app="guarded")],
        budgets={"guarded": 0},
        victims={"a"},
    ),
    "the lowest highest priority decides before the number": Scene(
        [node("n1", cpu="2"), node("n2", cpu="2")],
        [Runner("a", "middle", "n1", cpu="2"), Runner("b", "low", "n2"), Runner("c", "low", "n2")],
        cpu="2",
        victims={"b", "c"},
    ),
    "fewer victims": Scene(
        [node("n1", cpu="2"), node("n2", cpu="2")],
        [Runner("a", "low", "n1"), Runner("b", "low", "n1"), Runner("c", "low", "n2", cpu="2")],
        cpu="2",
        victims={"c"},
    ),
    "the latest start": Scene(
        [node("n1", cpu="1"), node("n2", cpu="1")],
        [
            Runner("a", "low", "n1", start="2026-01-01T00:00:00Z"),
            Runner("b", "low", "n2", start="2026-01-02T00:00:00Z"),
        ],
        victims={"b"},
    ),
    "the more important are reprieved": Scene(
        [node("n1", cpu="3")],
        [Runner("a", "middle", "n1"), Runner("b", "low", "n1"), Runner("c", "middle", "n1")],
        victims={"b"},
    ),
    "those of a spent budget are reprieved first": Scene(
        [node("n1", cpu="2")],
        [Runner("a", "low", "n1", app="guarded"), Runner("b", "middle", "n1")],
        budgets={"guarded": 0},
        victims={"b"},
    ),
    "nobody for a pod that is not more important": Scene(
        [node("n1", cpu="1")], [Runner("a", "high", "n1")], priority="high", victims=set()
    ),
    "nobody where it would not help": Scene([node("n1", cpu="1")], [Runner("a", "low", "n1")], cpu="2", victims=set()),
}


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    for name, value in CLASSES.items():
        shared_cluster.create(
            {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value}
        )
    shared_cluster.start_kube_scheduler()
    return shared_cluster


@pytest.fixture(scope="module")
def program(cluster: Cluster) -> Iterator[Program]:
    program = scheduler(cluster).wait_ready()
    yield program
    program.stop()


def play(cluster: Cluster, scene: Scene, *, by: str) -> set[str]:
    """Sets the scene, lets the scheduler act, and returns who is gone."""
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
    cluster.create(*scene.nodes)
    for app, allowed in scene.budgets.items():
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}},
        }
        cluster.call("POST", budgets, budget)
        status = {"status": {"disruptionsAllowed": allowed, "observedGeneration": 1, "expectedPods": 1}}
        cluster.call("PATCH", f"{budgets}/{app}/status", status, content_type=MERGE)
    for one in scene.runners:
        cluster.create(
            pod(
                one.name,
                cpu=one.cpu,
                nodeName=one.node,
                priorityClassName=one.priority,
                labels={"app": one.app},
                scheduler=by,
            )
        )
        started: dict[str, Any] = {"status": {"phase": "Running", "startTime": one.start}}
        cluster.call("PATCH", f"/api/v1/namespaces/default/pods/{one.name}/status", started, content_type=MERGE)
    try:
        cluster.create(pod("urgent", cpu=scene.cpu, priorityClassName=scene.priority, scheduler=by))
        if scene.victims:
            wait_until(lambda: "urgent" in placement(cluster), timeout=30, what=f"urgent pod placed by {by}")
        else:
            wait_until(lambda: bool(condition(cluster, "urgent")), timeout=30, what=f"verdict of {by}")
        left = {one["metadata"]["name"] for one in cluster.pods()}
        return {one.name for one in scene.runners} - left
    finally:
        clear(cluster)
        cluster.call("DELETE", budgets)


@pytest.mark.parametrize("name", SCENES)
def test_the_same_victims_as_kube_scheduler(cluster: Cluster, program: Program, name: str) -> None:
    scene = SCENES[name]
    theirs = play(cluster, scene, by="default-scheduler")
    ours = play(cluster, scene, by="ecotone")
    assert ours == theirs == scene.victims


def test_victims_are_told_and_the_node_is_nominated(cluster: Cluster, program: Program) -> None:
    """A victim that takes its time: the pod waits for it, with the node nominated and nobody else let in."""
    cluster.create(node("n1", cpu="1"))
    # Without a kubelet a pod with a grace period stays, terminating, until somebody removes it.
    cluster.create(pod("slow", cpu="1", nodeName="n1", priorityClassName="low", terminationGracePeriodSeconds=30))
    cluster.create(pod("urgent", cpu="1", priorityClassName="high"))
    path = "/api/v1/namespaces/default/pods/"

    def nominated() -> bool:
        return cluster.call("GET", path + "urgent")["status"].get("nominatedNodeName") == "n1"

    wait_until(nominated, timeout=30, what="nomination", child=program.child)
    wait_until(
        lambda: "deletionTimestamp" in cluster.call("GET", path + "slow")["metadata"], timeout=30, what="deletion"
    )
    victim = cluster.call("GET", path + "slow")
    assert "DisruptionTarget" in {one["type"] for one in victim["status"]["conditions"]}
    cluster.create(pod("sneaky", cpu="1", priorityClassName="low"))
    wait_until(lambda: bool(condition(cluster, "sneaky")), timeout=30, what="verdict on the sneaky pod")
    cluster.call("DELETE", path + "slow?gracePeriodSeconds=0")
    wait_until(lambda: placement(cluster).get("urgent") == "n1", timeout=30, what="urgent pod", child=program.child)
    assert "sneaky" not in placement(cluster)
    wait_until(lambda: bool(notes(cluster, "Preempted", "slow")), timeout=30, what="event")
    clear(cluster)


def test_budgets_are_never_violated_if_so_configured(cluster: Cluster) -> None:
    polite = scheduler(cluster, "--never-violate-budgets", name="polite").wait_ready()
    try:
        scene = SCENES["a spent budget is violated if nothing else will do"]
        spared = Scene(scene.nodes, scene.runners, budgets=scene.budgets, victims=set())
        assert play(cluster, spared, by="polite") == set()
    finally:
        polite.stop()
