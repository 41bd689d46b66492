"""Volumes that wait for their first consumer, bound by the real controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import claim, local_volume, mounting, node, waiting_class
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.waiting import condition, placement

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster()
    for name, provisioner in (("local", "kubernetes.io/no-provisioner"), ("made", "example.test/maker")):
        cluster.create(waiting_class(name, provisioner))
    cluster.create(*(node(f"n{number}", cpu="1") for number in range(3)))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def program(cluster: Cluster) -> Iterator[Program]:
    program = scheduler(cluster).wait_ready()
    yield program
    program.stop()


def test_a_local_volume_decides_the_node_and_is_bound_first(cluster: Cluster, program: Program) -> None:
    cluster.create(
        local_volume("big", "n0", "9Gi"), local_volume("small", "n1", "2Gi"), local_volume("tiny", "n2", "10Mi")
    )
    cluster.call("POST", CLAIMS, claim("data", "local"))

    def available() -> bool:
        volumes = cluster.list("/api/v1/persistentvolumes")
        return all(one["status"].get("phase") == "Available" for one in volumes)

    wait_until(available, timeout=20, what="available volumes")
    cluster.create(mounting("user", "data"))
    wait_until(lambda: "user" in placement(cluster), timeout=30, what="binding", child=program.child)
    bound = cluster.call("GET", f"{CLAIMS}/data")
    assert bound["status"]["phase"] == "Bound"
    expected = {"big": "n0", "small": "n1"}
    assert placement(cluster)["user"] == expected[bound["spec"]["volumeName"]]


def test_a_claim_without_any_volume_keeps_the_pod_waiting_until_one_appears(cluster: Cluster, program: Program) -> None:
    cluster.call("POST", CLAIMS, claim("huge", "local", "50Gi"))
    cluster.create(mounting("hungry", "huge"))
    wait_until(lambda: "available persistent volumes" in condition(cluster, "hungry"), timeout=20, what="verdict")
    cluster.create(local_volume("enough", "n2", "60Gi"))
    wait_until(lambda: placement(cluster).get("hungry") == "n2", timeout=30, what="binding", child=program.child)


def test_a_volume_to_be_made_is_asked_for_on_the_chosen_node(cluster: Cluster, program: Program) -> None:
    cluster.call("POST", CLAIMS, claim("new", "made"))
    cluster.create(mounting("maker", "new"))

    def selected() -> str | None:
        notes = cluster.call("GET", f"{CLAIMS}/new")["metadata"].get("annotations", {})
        return notes.get("volume.kubernetes.io/selected-node")

    wait_until(lambda: bool(selected()), timeout=20, what="selected node", child=program.child)
    assert "maker" not in placement(cluster), "the pod is bound only after its volume"
    # What a provisioner does: a volume for this claim, there.
    where = selected()
    volume = local_volume("made-1", str(where), "1Gi")
    volume["spec"]["storageClassName"] = "made"
    known = cluster.call("GET", f"{CLAIMS}/new")["metadata"]
    volume["spec"]["claimRef"] = {"namespace": "default", "name": "new", "uid": known["uid"]}
    cluster.create(volume)
    wait_until(lambda: placement(cluster).get("maker") == where, timeout=30, what="binding", child=program.child)
