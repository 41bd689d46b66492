"""The scheduler runs with exactly the printed role: every rule is used, and without it something stops."""

from __future__ import annotations

import random
import secrets
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from control_plane.cluster import Cluster, Refused
from control_plane.faulty_proxy import Fault, FaultyProxy
from control_plane.objects import claim, deployment, local_volume, mounting, node, pod, waiting_class
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.rights import install_role, single_rules, unused, used_and_refused, without
from control_plane.waiting import clear, notes, placement
from ecotone.services.install.rbac import LEASE_RULES, SCHEDULER, SCHEDULER_RULES

LEASE = ("--leader-elect", "--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry-period=0.2")


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(audit=True)
    install_role(cluster, SCHEDULER)
    cluster.create(
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9}
    )
    cluster.create(waiting_class("local", "kubernetes.io/no-provisioner"))
    cluster.create(waiting_class("made", "example.test/maker"))
    yield cluster
    cluster.stop()


@pytest.fixture
def kubeconfig(cluster: Cluster, tmp_path: Path) -> Path:
    return cluster.write_kubeconfig(tmp_path / "ecotone-kubeconfig", user="ecotone")


@pytest.fixture
def proxy(cluster: Cluster, kubeconfig: Path, tmp_path: Path) -> Iterator[FaultyProxy]:
    """Loses the answer to every first binding of a pod called `unheard`."""
    proxy = FaultyProxy(cluster, tmp_path, kubeconfig=kubeconfig)
    lost: set[str] = set()

    def judge(request: web.Request) -> Fault | None:
        if not request.path.endswith("/pods/unheard/binding") or request.path in lost:
            return None
        lost.add(request.path)
        return Fault.LOSE_ANSWER

    proxy.judges.append(judge)
    yield proxy
    proxy.stop()


def start(cluster: Cluster, proxy: FaultyProxy) -> Program:
    address = _own_address()
    if address is None:
        pytest.fail("this machine has no address besides loopback")
    return scheduler(
        cluster, *LEASE, "--request-timeout=1", kubeconfig=proxy.kubeconfig, policy="ecotone", host=address
    )


def exercise(cluster: Cluster, program: Program, *, timeout: float) -> None:
    """Everything the scheduler does: bind, report, preempt, elect, and answer questions."""
    program.wait_ready(timeout)
    cluster.create(node("n1", cpu="1"))
    cluster.create(deployment("web", replicas=0), pod("first", cpu="600m"))
    wait_until(lambda: "first" in placement(cluster), timeout=timeout, what="binding", child=program.child)
    wait_until(lambda: bool(notes(cluster, "Scheduled", "first")), timeout=timeout, what="event")
    cluster.create(pod("urgent", cpu="800m", priorityClassName="high"))
    wait_until(lambda: "urgent" in placement(cluster), timeout=timeout, what="preemption", child=program.child)
    cluster.create(pod("late", cpu="900m"))

    def told() -> bool:
        late = cluster.call("GET", "/api/v1/namespaces/default/pods/late")
        return any(one["type"] == "PodScheduled" for one in late["status"].get("conditions", []))

    wait_until(told, timeout=timeout, what="condition", child=program.child)
    disk = f"disk-{secrets.token_hex(4)}"
    cluster.create(local_volume(disk, "n1", "1Gi"))
    cluster.call("POST", "/api/v1/namespaces/default/persistentvolumeclaims", claim(disk, "local", "1Gi"))
    cluster.create(mounting("stores", disk))
    wait_until(lambda: "stores" in placement(cluster), timeout=timeout, what="volume", child=program.child)
    exercise_rare(cluster, program, timeout=timeout)


def exercise_rare(cluster: Cluster, program: Program, *, timeout: float) -> None:
    """What is needed only now and then: after a lost answer, for a volume yet to be made, for an event that comes again."""
    status = {"status": {"allocatable": {"cpu": "1100m"}, "capacity": {"cpu": "1100m"}}}
    merge = "application/merge-patch+json"
    cluster.call("PATCH", "/api/v1/nodes/n1/status", status, content_type=merge)

    def repeated() -> bool:
        told = cluster.list("/apis/events.k8s.io/v1/namespaces/default/events")
        return any(one["regarding"]["name"] == "late" and "series" in one for one in told)

    wait_until(repeated, timeout=timeout, what="event that counts", child=program.child)
    cluster.create(node("n2", cpu="1"), pod("unheard", cpu="100m"))
    wait_until(
        lambda: program.metric("ecotone_scheduler_bindings_total", outcome="bound") >= 4, timeout=timeout, what="read"
    )
    taken_reservation(cluster, program, timeout=timeout)
    claims = "/api/v1/namespaces/default/persistentvolumeclaims"
    cluster.call("POST", claims, claim("to-be-made", "made"))
    cluster.create(mounting("waits", "to-be-made"))

    def chosen() -> bool:
        return "volume.kubernetes.io/selected-node" in cluster.call("GET", f"{claims}/to-be-made")["metadata"].get(
            "annotations", {}
        )

    wait_until(chosen, timeout=timeout, what="node for the volume", child=program.child)
    if program.get("/decisions/default/first", token=cluster.token("admin"))[0] != 200:
        raise TimeoutError("no decision for its reader")


def taken_reservation(cluster: Cluster, program: Program, *, timeout: float) -> None:
    """A place kept for a pod: it goes there, and the reservation tells who took it."""
    path = "/apis/ecotone.dev/v1alpha1/namespaces/default/reservations"
    spec = {"kind": "Pod", "workload": "kept", "node": "n2", "replacesUID": "kept-1", "expires": "2100-01-01T00:00:00Z"}
    body = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "Reservation", "metadata": {"name": "kept-1"}, "spec": spec}
    cluster.call("POST", path, body)
    seen = program.metric("ecotone_scheduler_watch_events_total", type="reservations")
    wait_until(
        lambda: program.metric("ecotone_scheduler_watch_events_total", type="reservations") >= max(1.0, seen),
        timeout=timeout,
        what="reservation seen",
    )
    cluster.create(pod("kept", cpu="10m"))
    wait_until(
        lambda: cluster.call("GET", f"{path}/kept-1").get("status", {}).get("takenBy", "") != "",
        timeout=timeout,
        what="reservation taken",
        child=program.child,
    )


def tidy(cluster: Cluster) -> None:
    cluster.call("DELETE", "/apis/ecotone.dev/v1alpha1/namespaces/default/reservations")
    clear(cluster)
    cluster.call("DELETE", "/api/v1/namespaces/default/persistentvolumeclaims")
    cluster.call("DELETE", "/api/v1/persistentvolumes")
    cluster.call("DELETE", "/apis/apps/v1/namespaces/default/deployments")
    cluster.call("DELETE", "/apis/events.k8s.io/v1/namespaces/default/events")
    cluster.call("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")


def test_it_works_with_the_printed_role_and_is_refused_nothing(cluster: Cluster, proxy: FaultyProxy) -> None:
    program = start(cluster, proxy)
    try:
        exercise(cluster, program, timeout=15)
    finally:
        program.stop()
        tidy(cluster)
    assert not used_and_refused(cluster.audit_log)[1]
    assert not unused(cluster.audit_log, SCHEDULER_RULES, LEASE_RULES)


def test_it_cannot_read_secrets(cluster: Cluster) -> None:
    for path in ("/api/v1/secrets", "/api/v1/namespaces/kube-system/secrets", "/api/v1/namespaces/default/configmaps"):
        with pytest.raises(Refused) as refused:
            cluster.call("GET", path, user="ecotone")
        assert refused.value.status == 403


SINGLE_RULES = single_rules(("clusterroles", SCHEDULER_RULES), ("roles", LEASE_RULES))


def breaks_without(cluster: Cluster, proxy: FaultyProxy, role: str, name: str, rule: dict[str, Any]) -> None:
    api = "/apis/rbac.authorization.k8s.io/v1"
    path = f"{api}/clusterroles/{SCHEDULER}"
    if role == "roles":
        path = f"{api}/namespaces/kube-system/roles/{SCHEDULER}"
    whole = cluster.call("GET", path)
    cluster.call("PUT", path, {**whole, "rules": without(whole["rules"], rule)})
    program = start(cluster, proxy)
    try:
        try:
            exercise(cluster, program, timeout=6)
        except (TimeoutError, RuntimeError):
            return
        log = program.child.log.read_text()
        assert "forbidden" in log, f"nothing missed the right to {name}"
    finally:
        program.kill()
        current = cluster.call("GET", path)
        cluster.call("PUT", path, {**current, "rules": whole["rules"]})
        tidy(cluster)


@pytest.mark.parametrize("choice", [0, 1])
def test_without_a_rule_something_stops(cluster: Cluster, proxy: FaultyProxy, choice: int) -> None:
    rules = list(SINGLE_RULES)
    random.Random(4).shuffle(rules)
    breaks_without(cluster, proxy, *rules[choice])


@pytest.mark.slow
@pytest.mark.parametrize("choice", range(len(SINGLE_RULES)))
def test_without_any_rule_something_stops(cluster: Cluster, proxy: FaultyProxy, choice: int) -> None:
    breaks_without(cluster, proxy, *SINGLE_RULES[choice])


def test_decisions_are_for_those_who_may_see_the_pod(cluster: Cluster, kubeconfig: Path) -> None:
    """From another address than loopback a token is asked for, and its owner must be allowed to read the pod."""
    address = _own_address()
    if address is None:
        pytest.fail("this machine has no address besides loopback")
    program = scheduler(cluster, kubeconfig=kubeconfig, policy="kube-default", host=address).wait_ready()
    try:
        cluster.create(node("n1"), pod("seen"))
        wait_until(lambda: "seen" in placement(cluster), timeout=15, what="binding", child=program.child)
        assert program.get("/decisions/default/seen")[0] == 403
        assert program.get("/decisions/default/seen", token="nonsense")[0] == 403
        assert program.get("/decisions/default/seen", token=cluster.token("nobody"))[0] == 403
        assert program.get("/decisions/default/seen", token=cluster.token("admin"))[0] == 200
    finally:
        program.stop()
        tidy(cluster)


def _own_address() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # No packet is sent: connecting a datagram socket only chooses the local address.
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = str(probe.getsockname()[0])
    return None if address.startswith("127.") else address
