"""A tenant with every right in his own namespace does nothing to others, with our programs at work under their own roles."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from control_plane import attempts_objects
from control_plane.admission import MERGE, install, people, service_account
from control_plane.campaign import ATTEMPTS, GROUPS, Tenant, Victims, changes, play
from control_plane.cluster import Cluster
from control_plane.objects import deployment, node
from control_plane.processes import wait_until
from control_plane.programs import Program
from ecotone.manifests.times import show_time
from ecotone.services.install.rbac import DESCHEDULER, MONITOR, SCHEDULER

VICTIM = attempts_objects.VICTIM
ALIKE = ("--policy=ecotone", "--max-age=3600")
OBJECTS = tuple(ATTEMPTS)
SEED = 28


def victims(cluster: Cluster, *, now: float) -> None:
    """Two services that talk, beside each other, measured by the monitor; nodes with plenty of room as it measured them."""
    for name, other in (("near", "far"), ("far", "near")):
        cluster.create(node(name, cpu="8"))
        told = {"ecotone.dev/available-cpu": "6", "ecotone.dev/latencies": json.dumps({other: 5.0})}
        measured(cluster, f"/api/v1/nodes/{name}", told, now=now)
    path = f"/apis/apps/v1/namespaces/{VICTIM}/deployments"
    for name, peer in (("db", "front"), ("front", "db")):
        made = deployment(name, namespace=VICTIM, labels={"app-group": VICTIM}, cpu="100m")
        if name == "db":
            made["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "near"}
        cluster.call("POST", path, made)
        talk = {"ecotone.dev/requests": json.dumps({peer: 100}), "ecotone.dev/traffic": json.dumps({peer: 50_000})}
        measured(cluster, f"{path}/{name}", {**talk, "ecotone.dev/cpu-usage": "50m"}, now=now)
    spec = {"name": VICTIM, "runPeriod": 1, "window": "1s", "descheduler": {"coolDownSeconds": 0}}
    group = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "AppGroup", "metadata": {"name": VICTIM}, "spec": spec}
    cluster.call("POST", f"{GROUPS}/namespaces/{VICTIM}/appgroups", group)


def measured(cluster: Cluster, path: str, told: dict[str, str], *, now: float) -> None:
    body = {"metadata": {"annotations": {**told, "ecotone.dev/measured-at": show_time(now)}}}
    cluster.call("PATCH", path, body, content_type=MERGE, acting_as=service_account(MONITOR))


def settled(cluster: Cluster) -> bool:
    """All of the victims' pods run beside each other."""
    pods = cluster.pods(VICTIM)
    return len(pods) == 2 and all(
        one["spec"].get("nodeName") == "near"
        and "deletionTimestamp" not in one["metadata"]
        and any(each["type"] == "Ready" and each["status"] == "True" for each in one["status"].get("conditions", []))
        for one in pods
    )


def rounds(program: Program) -> float:
    return program.metric("ecotone_descheduler_rounds_total", result="ok")


def some_rounds(program: Program, count: int) -> None:
    """The descheduler has looked so many times more."""
    goal = rounds(program) + count
    wait_until(lambda: rounds(program) >= goal, timeout=60, what="rounds of the descheduler", child=program.child)


def as_account(cluster: Cluster, account: str, directory: Path) -> Path:
    """A kubeconfig with a token such as the account's pod would have."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = f"/api/v1/namespaces/kube-system/serviceaccounts/{account}/token"
    cluster.add_token(account, cluster.call("POST", path, body)["status"]["token"])
    return cluster.write_kubeconfig(directory / f"{account}-kubeconfig", user=account)


@pytest.fixture
def guarded(start_cluster: Callable[..., Cluster], now: float) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True, keeps_figures=False)
    people(cluster, Tenant(cluster).namespace)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": VICTIM}})
    install(cluster)
    victims(cluster, now=now)
    yield cluster
    cluster.stop()


@pytest.fixture
def now() -> float:
    return time.time()


def campaign(cluster: Cluster, directory: Path, *, count: int) -> None:
    placing = Program(cluster, "scheduler", *ALIKE, kubeconfig=as_account(cluster, SCHEDULER, directory)).wait_ready()
    wait_until(lambda: settled(cluster), timeout=60, what="victims at rest", child=placing.child)
    role = as_account(cluster, DESCHEDULER, directory)
    moving = Program(cluster, "descheduler", *ALIKE, "--ready-seconds=30", kubeconfig=role).wait_ready()
    some_rounds(moving, 3)
    assert settled(cluster), "left alone, the victims stay where they are"
    others = Victims(cluster, (VICTIM, "kube-system", "default"))
    before = others.picture()
    told = play(Tenant(cluster), others, count=count, seed=SEED, kinds=OBJECTS, check=lambda: some_rounds(moving, 1))
    some_rounds(moving, 5)
    assert not changes(before, others.picture())
    assert settled(cluster)
    assert len(told) == count
    for program in (moving, placing):
        assert program.child.running
        assert program.stop() == 0
        assert "Traceback" not in program.child.log.read_text()


def test_a_tenant_does_nothing_to_others(guarded: Cluster, tmp_path: Path) -> None:
    campaign(guarded, tmp_path, count=60)


@pytest.mark.slow
def test_a_tenant_does_nothing_to_others_in_five_hundred_attempts(guarded: Cluster, tmp_path: Path) -> None:
    campaign(guarded, tmp_path, count=500)


def test_without_policies_and_with_trust_the_same_claims_move_others(
    start_cluster: Callable[..., Cluster], now: float
) -> None:
    """That the campaign finds nothing must mean something: here the pods of a stranger's claims drive the victims away."""
    cluster = start_cluster(kwok=True, keeps_figures=False)
    try:
        people(cluster, Tenant(cluster).namespace)
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": VICTIM}})
        install(cluster, parts=("crds", "rbac"))
        victims(cluster, now=now)
        trusting = (*ALIKE, "--trust-annotations")
        placing = Program(cluster, "scheduler", *trusting).wait_ready()
        wait_until(lambda: settled(cluster), timeout=60, what="victims at rest", child=placing.child)
        moving = Program(cluster, "descheduler", *trusting, "--ready-seconds=30").wait_ready()
        some_rounds(moving, 3)
        assert settled(cluster)
        tenant = Tenant(cluster)
        claim = {"ecotone.dev/cpu-usage": "7000m"}
        made = deployment("busy", namespace=tenant.namespace, replicas=2, cpu="10m", annotations=claim)
        made["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "near"}
        assert tenant.tries("POST", tenant.here("apps/v1", "deployments"), made) == ""
        wait_until(lambda: not settled(cluster), timeout=120, what="victims driven away", child=moving.child)
    finally:
        cluster.stop()
