"""The closed loop on a real control plane: the descheduler moves, the scheduler places where it was promised."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from control_plane.closed_loop import DEPLOYMENTS, MERGE, RESERVATIONS, install, moves, ready, scene, tidy, where
from control_plane.cluster import Cluster, collection
from control_plane.objects import deployment, node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, run_ecotone, scheduler
from control_plane.waiting import notes, wait_nodes
from ecotone.services.install.rbac import DESCHEDULER


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True)
    install(cluster)
    code, printed, problems = run_ecotone(cluster, "manifests", "rbac")
    assert code == 0, problems
    for one in yaml.safe_load_all(printed):
        if one["metadata"]["name"] != DESCHEDULER:
            continue
        if one["kind"].endswith("RoleBinding"):
            # The test's user stands in for the service account.
            one["subjects"] = [{"kind": "User", "name": "ecotone", "apiGroup": "rbac.authorization.k8s.io"}]
        cluster.call("POST", collection(one), one)
    yield cluster
    cluster.stop()


@pytest.fixture(autouse=True)
def empty(cluster: Cluster) -> Iterator[None]:
    yield
    tidy(cluster)


@pytest.fixture
def loop(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[Program, Program]]:
    """Scheduler and descheduler; the latter with the printed role and nothing else."""
    placing = scheduler(cluster, policy="ecotone-fast").wait_ready()
    role = cluster.write_kubeconfig(tmp_path / "role-kubeconfig", user="ecotone")
    options = ("--policy=ecotone-fast", "--ready-seconds=30", "--leader-elect")
    moving = Program(cluster, "descheduler", *options, kubeconfig=role).wait_ready()
    yield placing, moving
    assert moving.stop() == 0
    assert placing.stop() == 0
    assert "forbidden" not in moving.child.log.read_text()


def test_replicas_move_to_their_peer_and_land_where_it_was_promised(
    cluster: Cluster, loop: tuple[Program, Program]
) -> None:
    scene(cluster, front=2)
    child = loop[1].child
    wait_until(lambda: where(cluster, "front") == ["near", "near"], timeout=60, what="both near", child=child)
    wait_until(lambda: len(moves(cluster, "Done")) >= 2, timeout=40, what="both moves judged", child=child)
    wait_until(
        lambda: not cluster.list(RESERVATIONS),
        timeout=20,
        what="end of reservations",
        child=child,
        promise="left behind",
    )
    for move in moves(cluster, "Done"):
        assert (move["to"], move["landed"]) == ("near", "near")
        assert move["measuredGain"] > 0
    wait_until(lambda: len(notes(cluster, "Moved", "front")) >= 2, timeout=20, what="events")


def test_the_only_pod_goes_after_its_replacement(cluster: Cluster, loop: tuple[Program, Program]) -> None:
    scene(cluster, front=1)
    child = loop[1].child
    fewest = [9]

    def settled() -> bool:
        fewest[0] = min(fewest[0], ready(cluster, "front"))
        return where(cluster, "front") == ["near"] and len(moves(cluster, "Done")) == 1

    wait_until(settled, timeout=60, what="replacement near", child=child, every=0.02)
    assert fewest[0] >= 1, "the service was without a ready pod"
    front = cluster.call("GET", f"{DEPLOYMENTS}/front")
    assert front["spec"]["replicas"] == 1
    assert "ecotone.dev/surge" not in front["metadata"].get("annotations", {})
    assert moves(cluster, "Done")[0]["surge"] is True


def test_a_replacement_waits_for_its_place_while_a_pod_that_is_ending_takes_it(
    cluster: Cluster, loop: tuple[Program, Program]
) -> None:
    """A finalizer stands for the seconds that a real pod takes to end."""
    placing = loop[0]
    cluster.create(node("near", cpu="1"), node("far"))
    wait_nodes(cluster)
    leaving = pod("leaving", cpu="800m", nodeName="near")
    leaving["metadata"]["finalizers"] = ["test.ecotone.dev/ending"]
    cluster.create(leaving)
    spec = {"workload": "front", "node": "near", "replacesUID": "nobody", "resources": {"cpu": "500m"}}
    spec["expires"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
    held = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": "held"}, "spec": spec}
    cluster.call("POST", RESERVATIONS, held)
    path = "/api/v1/namespaces/default/pods/leaving"
    cluster.call("DELETE", path)
    cluster.call("POST", DEPLOYMENTS, deployment("front", cpu="500m"))
    why = "waits for the place reserved for it by held: pods that are ending still take room on near"
    token = cluster.token("admin")

    def told() -> bool:
        names = (one["metadata"]["name"] for one in cluster.pods("default"))
        return any(why in placing.get(f"/decisions/default/{name}", token=token)[1] for name in names)

    wait_until(told, timeout=40, what="a replacement that waits", child=placing.child)
    assert where(cluster, "front") == []
    cluster.call("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
    wait_until(lambda: where(cluster, "front") == ["near"], timeout=40, what="its place", child=placing.child)
