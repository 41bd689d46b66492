"""``ecotone serve scheduler`` on a real API server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, run_ecotone, scheduler
from control_plane.waiting import clear, condition, notes, placement, wait_bound
from fair.waits import patience


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    return shared_cluster


@pytest.fixture(scope="module")
def program(cluster: Cluster) -> Iterator[Program]:
    program = scheduler(cluster).wait_ready()
    yield program
    program.stop()


@pytest.fixture(autouse=True)
def empty(cluster: Cluster) -> Iterator[None]:
    yield
    clear(cluster)


def attempts(program: Program) -> float:
    return program.metric("ecotone_scheduler_schedule_attempts_total")


def test_pods_are_bound_with_the_reason_and_an_event(cluster: Cluster, program: Program) -> None:
    cluster.create(node("a1"), node("a2"))
    cluster.create(*(pod(f"p{number}") for number in range(10)))
    where = wait_bound(cluster, 10, child=program.child)
    assert set(where.values()) == {"a1", "a2"}
    bound = cluster.call("GET", "/api/v1/namespaces/default/pods/p0")
    assert "best of 2 feasible nodes" in bound["metadata"]["annotations"]["ecotone.dev/why"]
    wait_until(lambda: len(notes(cluster, "Scheduled")) >= 10, timeout=30, what="events")
    assert f"Successfully assigned default/p0 to {where['p0']}" in notes(cluster, "Scheduled", "p0")


def test_other_schedulers_pods_are_left_alone(cluster: Cluster, program: Program) -> None:
    cluster.create(node("a1"), pod("foreign", scheduler="somebody-else"), pod("ours"))
    wait_bound(cluster, 1, child=program.child)
    assert placement(cluster) == {"ours": "a1"}


def test_an_unschedulable_pod_says_why_in_kube_schedulers_words(cluster: Cluster, program: Program) -> None:
    taint = {"taints": [{"key": "gone", "effect": "NoSchedule"}]}
    cluster.create(node("a1", cpu="1"), node("a2", cpu="1"), node("a3", spec=taint), pod("big", cpu="3"))
    expected = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."
    wait_until(
        lambda: condition(cluster, "big").startswith(expected), timeout=30, what="condition", child=program.child
    )
    wait_until(lambda: bool(notes(cluster, "FailedScheduling", "big")), timeout=30, what="event")
    assert notes(cluster, "FailedScheduling", "big")[-1].startswith(expected)


def test_an_unschedulable_pod_is_retried_when_and_only_when_something_helps(cluster: Cluster, program: Program) -> None:
    cluster.create(node("a1", cpu="1"), pod("big", cpu="3"))
    wait_until(lambda: bool(condition(cluster, "big")), timeout=30, what="verdict", child=program.child)
    before = attempts(program)
    # None of these gives the pod room.
    cluster.create(node("a2", cpu="2"), pod("small", cpu="100m"))
    wait_bound(cluster, 1, child=program.child)
    patch = {"metadata": {"labels": {"colour": "green"}}}
    cluster.call("PATCH", "/api/v1/nodes/a1", patch, content_type="application/merge-patch+json")
    cluster.call("DELETE", "/api/v1/namespaces/default/pods/small?gracePeriodSeconds=0")
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"ns-{time.time_ns()}"}})
    cluster.create(pod("small-2", cpu="100m"))
    wait_bound(cluster, 1, prefix="small-2", child=program.child)
    # A binding is counted when its answer is back, which may be after it can be seen.
    wait_until(lambda: attempts(program) >= before + 2, timeout=30, what="counted attempts", child=program.child)
    assert attempts(program) == before + 2, "the two small pods were tried, the big one was not"
    cluster.create(node("a4", cpu="4"))
    wait_until(lambda: placement(cluster).get("big") == "a4", timeout=30, what="big pod", child=program.child)
    wait_until(lambda: attempts(program) >= before + 3, timeout=30, what="counted attempts", child=program.child)
    assert attempts(program) == before + 3


def test_a_gated_pod_waits_for_its_gates(cluster: Cluster, program: Program) -> None:
    cluster.create(node("a1"), pod("gated", schedulingGates=[{"name": "test/hold"}]), pod("free"))
    wait_bound(cluster, 1, child=program.child)
    wait_until(lambda: program.metric("ecotone_scheduler_pending_pods", queue="gated") == 1, timeout=30, what="gate")
    assert placement(cluster) == {"free": "a1"}
    patch = {"spec": {"schedulingGates": None}}
    cluster.call("PATCH", "/api/v1/namespaces/default/pods/gated", patch, content_type="application/merge-patch+json")
    wait_bound(cluster, 2, child=program.child)


def test_decisions_can_be_asked_for(cluster: Cluster, program: Program) -> None:
    cluster.create(node("a1"), node("a2", cpu="1"), pod("asked", cpu="2"))
    wait_bound(cluster, 1, child=program.child)
    assert program.get("/decisions/default/asked")[0] == 403, "loopback alone proves nothing"
    token = cluster.token("admin")
    status, body = program.get("/decisions/default/asked", token=token)
    record = json.loads(body)
    assert status == 200
    assert (record["pod"], record["node"], record["action"]) == ("default/asked", "a1", "bind")
    nodes = {one["name"]: one for one in record["nodes"]}
    assert nodes["a2"] == {"name": "a2", "feasible": False, "reasons": ["Insufficient cpu"]}
    assert nodes["a1"]["feasible"]
    assert program.get("/decisions/default/unheard-of", token=token)[0] == 404
    code, told, _ = run_ecotone(cluster, "explain", "pod/asked", "--scheduler", program.address, "-o", "json")
    assert (code, json.loads(told)) == (0, record)


def test_never_more_on_a_node_than_it_has(cluster: Cluster, program: Program) -> None:
    cluster.create(*(node(f"a{number}", cpu="1", pods="5") for number in range(4)))
    cluster.create(*(pod(f"p{number:02}", cpu="300m") for number in range(20)))
    where = wait_bound(cluster, 12, child=program.child)
    wait_until(
        lambda: program.metric("ecotone_scheduler_pending_pods", queue="unschedulable") == 8, timeout=30, what="8"
    )
    counts = [list(where.values()).count(name) for name in set(where.values())]
    assert counts == [3, 3, 3, 3]
    assert program.metric("ecotone_scheduler_overcommitted_nodes") == 0


def test_over_commitment_by_others_is_reported_and_counted(cluster: Cluster, program: Program) -> None:
    before = program.metric("ecotone_scheduler_overcommitments_total")
    cluster.create(node("a1", cpu="1"))
    cluster.create(*(pod(f"rude{number}", cpu="800m", nodeName="a1", scheduler="somebody-else") for number in range(2)))
    wait_until(
        lambda: program.metric("ecotone_scheduler_overcommitments_total") == before + 1,
        timeout=30,
        what="report",
        child=program.child,
    )
    wait_until(lambda: bool(notes(cluster, "OverCommitted", "a1")), timeout=30, what="event")
    assert notes(cluster, "OverCommitted", "a1") == ["node a1: 1600 of cpu requested, 1000 allocatable"]


def test_it_stops_within_five_seconds_and_loses_nothing(cluster: Cluster) -> None:
    second = scheduler(cluster, name="second").wait_ready()
    cluster.create(node("a1"), *(pod(f"p{number}", scheduler="second") for number in range(5)))
    wait_bound(cluster, 5, child=second.child)
    started = time.monotonic()
    assert second.stop() == 0
    assert time.monotonic() - started < 5
    assert len(notes(cluster, "Scheduled", "p4")) >= 1


def test_several_profiles_each_decide_their_own_pods(cluster: Cluster, tmp_path: Path) -> None:
    config = tmp_path / "profiles.yaml"
    config.write_text(
        "apiVersion: ecotone.dev/v1alpha1\n"
        "kind: SchedulerConfiguration\n"
        "profiles:\n"
        "- {schedulerName: first, name: first, policy: first-fit}\n"
        "- {schedulerName: cloud, name: cloud, policy: cloud-first}\n"
    )
    both = Program(cluster, "scheduler", f"--config={config}").wait_ready()
    try:
        cluster.create(node("a1"), node("z1", labels={"ecotone.dev/tier": "cloud"}))
        cluster.create(pod("one", scheduler="first"), pod("two", scheduler="cloud"))
        assert wait_bound(cluster, 2, child=both.child) == {"one": "a1", "two": "z1"}
    finally:
        both.stop()


def test_an_application_that_never_becomes_complete_is_placed_after_a_moment(cluster: Cluster) -> None:
    cluster.create(node("a1"))
    program = scheduler(cluster, policy="ecotone", name="whole").wait_ready()
    try:
        began = time.monotonic()
        labels = {"app": "web", "app-group": "shop"}
        told = {"ecotone.dev/affinity": json.dumps({"nobody": 100})}
        cluster.create(pod("web", scheduler="whole", labels=labels, annotations=told))
        wait_bound(cluster, 1, child=program.child)
        assert time.monotonic() - began < 10 * patience()
    finally:
        program.stop()
