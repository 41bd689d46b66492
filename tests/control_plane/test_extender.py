"""A stock kube-scheduler with our extender: pods land where the network term says."""

from __future__ import annotations

import json
import urllib.error
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import deployment, node, pod
from control_plane.processes import Child, wait_until
from control_plane.programs import Program
from control_plane.waiting import clear, placement, wait_bound
from ecotone.services.install import extender_configuration

NODES = ("near", "middling", "far")
RTT = {"near": 1.0, "middling": 40.0, "far": 90.0}


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    return shared_cluster


@pytest.fixture
def program(cluster: Cluster) -> Iterator[Program]:
    program = Program(cluster, "extender", "--policy=ecotone").wait_ready()
    yield program
    if program.child.running:
        program.stop()


@pytest.fixture
def kube_scheduler(cluster: Cluster, program: Program) -> Iterator[Child]:
    # Exactly what `ecotone manifests extender` prints, but for the address.
    child = cluster.start_kube_scheduler(extender_configuration(program.address))
    yield child
    child.stop()
    cluster.forget(child)


@pytest.fixture(autouse=True)
def scene(cluster: Cluster) -> Iterator[None]:
    """A database on ``near``, and a front end that talks to it."""
    latencies = {one: {other: abs(RTT[one] - RTT[other]) for other in NODES if other != one} for one in NODES}
    cluster.create(
        *(node(name, annotations={"ecotone.dev/latencies": json.dumps(latencies[name])}) for name in NODES),
        deployment("front", annotations={"ecotone.dev/traffic": json.dumps({"db": 50_000})}),
        deployment("db"),
        owned("db", "db-0", nodeName="near"),
    )
    yield
    clear(cluster)
    cluster.call("DELETE", "/apis/apps/v1/namespaces/default/deployments")


def owned(workload: str, name: str, **spec: Any) -> dict[str, object]:
    one = pod(name, scheduler="default-scheduler", labels={"app": workload, "pod-template-hash": "1"}, **spec)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{workload}-1", "uid": "1", "controller": True}
    one["metadata"]["ownerReferences"] = [owner]
    return one


def test_pods_land_next_to_their_peer(cluster: Cluster, kube_scheduler: Child, program: Program) -> None:
    cluster.create(*(owned("front", f"front-{number}") for number in range(5)))
    where = wait_bound(cluster, 6, child=kube_scheduler)
    assert {where[f"front-{number}"] for number in range(5)} == {"near"}
    assert program.metric("ecotone_extender_requests_total", verb="prioritize", result="ok") >= 5


def test_two_buckets_of_difference_outweigh_the_default_plugins(cluster: Cluster) -> None:
    """The default plugins prefer the empty node by far; the network term prefers the full one by two buckets of ten."""
    clear(cluster)
    # The peer's own node is full. Nearness is 1/ms on the others: 0.8, 0.64 and 0.001, that is 10, 8 and 0 of 10.
    toward = {"near": {"home": 1.25}, "close": {"home": 1.5625}, "remote": {"home": 1000.0}}
    cluster.create(
        node("home", cpu="1m"),
        *(node(name, annotations={"ecotone.dev/latencies": json.dumps(rtt)}) for name, rtt in toward.items()),
        owned("db", "db-0", nodeName="home"),
        owned("filler", "filler-0", nodeName="near", cpu="3200m", memory="12Gi"),
    )
    program = Program(cluster, "extender", "--policy=communication-aware").wait_ready()
    child = cluster.start_kube_scheduler(extender_configuration(program.address))
    try:
        asked = {"Pod": owned("front", "front-0"), "NodeNames": list(toward)}
        scores = {one["Host"]: one["Score"] for one in program.post("/prioritize", asked)}
        assert scores == {"near": 10, "close": 8, "remote": 0}
        cluster.create(owned("front", "front-0"))
        wait_until(lambda: "front-0" in placement(cluster), timeout=20, what="binding", child=child)
        assert placement(cluster)["front-0"] == "near"
        program.stop()
        cluster.create(owned("front", "front-1"))
        wait_until(lambda: "front-1" in placement(cluster), timeout=20, what="binding", child=child)
        assert placement(cluster)["front-1"] != "near", "left to themselves the default plugins decide otherwise"
    finally:
        child.stop()
        cluster.forget(child)
        if program.child.running:
            program.stop()


def test_a_dead_extender_does_not_stop_scheduling(cluster: Cluster, kube_scheduler: Child, program: Program) -> None:
    program.stop()
    cluster.create(owned("front", "front-0"))
    wait_bound(cluster, 2, child=kube_scheduler)


def test_scores_are_integers_from_0_to_10_over_the_nodes_asked_about(cluster: Cluster, program: Program) -> None:
    asked = {"Pod": owned("front", "front-9"), "NodeNames": list(NODES), "Nodes": None}
    wait_until(lambda: program.post("/prioritize", asked)[0]["Score"] == 10, timeout=30, what="filled cache")
    scores = {one["Host"]: one["Score"] for one in program.post("/prioritize", asked)}
    assert scores["near"] == 10
    assert scores["far"] == 0
    assert 0 < scores["middling"] < 10
    two = {"Pod": owned("front", "front-9"), "NodeNames": ["middling", "far"]}
    assert {one["Host"]: one["Score"] for one in program.post("/prioritize", two)} == {"middling": 10, "far": 0}


def test_filter_keeps_what_it_has_nothing_against(cluster: Cluster, program: Program) -> None:
    asked = {"Pod": owned("front", "front-9"), "NodeNames": [*NODES, "unheard-of"]}
    answer = program.post("/filter", asked)
    assert answer["NodeNames"] == [*NODES, "unheard-of"]
    assert answer["FailedNodes"] == {}
    assert answer["Error"] == ""
    full = {"Pod": owned("front", "front-9"), "Nodes": {"items": [{"metadata": {"name": "near"}}]}}
    assert program.post("/filter", full)["Nodes"]["items"][0]["metadata"]["name"] == "near"


def test_preempt_keeps_candidates_and_their_victims(cluster: Cluster, program: Program) -> None:
    victims = {"near": {"Pods": [{"UID": "u1"}], "NumPDBViolations": 1}}
    answer = program.post("/preempt", {"Pod": owned("front", "front-9"), "NodeNameToMetaVictims": victims})
    assert answer == {"NodeNameToMetaVictims": victims}


def test_bind_binds_the_very_pod_for_those_who_have_the_token(cluster: Cluster, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("a-token-of-enough-characters\n")
    program = Program(cluster, "extender", "--allow-bind", f"--bind-token-file={secret}").wait_ready()
    try:
        cluster.create(pod("by-hand", scheduler="nobody"))
        uid = cluster.call("GET", "/api/v1/namespaces/default/pods/by-hand")["metadata"]["uid"]
        wanted = {"PodName": "by-hand", "PodNamespace": "default", "PodUID": "another", "Node": "far"}
        token = secret.read_text().strip()
        with pytest.raises(urllib.error.HTTPError, match="403"):
            program.post("/bind", {**wanted, "PodUID": uid})
        assert program.post("/bind", wanted, token=token)["Error"]
        with pytest.raises(urllib.error.HTTPError, match="400"):
            program.post("/bind", {**wanted, "PodUID": uid, "PodName": "by-hand/eviction"}, token=token)
        assert program.post("/bind", {**wanted, "PodUID": uid}, token=token) == {"Error": ""}
        assert placement(cluster)["by-hand"] == "far"
    finally:
        program.stop()


def test_bind_does_not_exist_unless_asked_for(cluster: Cluster, program: Program) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        program.post("/bind", {"PodName": "db-0", "PodNamespace": "default", "PodUID": "u", "Node": "far"})
