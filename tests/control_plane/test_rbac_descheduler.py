"""The descheduler runs with exactly the printed role: every rule is used, and without it something stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from control_plane.closed_loop import moves, scene, tidy, where
from control_plane.cluster import Cluster, Refused
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.rights import install_role, lacking, single_rules, unused, used_and_refused
from control_plane.waiting import notes
from ecotone.services.install.rbac import DESCHEDULER, DESCHEDULER_LEASE_RULES, DESCHEDULER_RULES

LEASE = ("--leader-elect", "--lease-duration=3", "--lease-renew-deadline=2", "--lease-retry-period=0.2")
# The same event again is counted by a patch: the recorder's, shown with the scheduler's role, and rare here.
AGAIN = ("events.k8s.io", "events", "patch")
SINGLE_RULES = [
    one
    for one in single_rules(("clusterroles", DESCHEDULER_RULES), ("roles", DESCHEDULER_LEASE_RULES))
    if one[1] != "patch events"
]


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(kwok=True, audit=True)
    install_role(cluster, DESCHEDULER)
    yield cluster
    cluster.stop()


@pytest.fixture
def placing(cluster: Cluster) -> Iterator[Program]:
    program = scheduler(cluster, policy="ecotone-fast").wait_ready()
    yield program
    program.stop()


def start(cluster: Cluster, directory: Path) -> Program:
    kubeconfig = cluster.write_kubeconfig(directory / "ecotone-kubeconfig", user="ecotone")
    return Program(cluster, "descheduler", "--policy=ecotone-fast", "--ready-seconds=30", *LEASE, kubeconfig=kubeconfig)


def exercise(cluster: Cluster, program: Program, *, timeout: float) -> None:
    """Everything the descheduler does: elect, look, reserve, evict, report; and move the only pod of a workload."""
    program.wait_ready(timeout)
    for count in (2, 1):
        scene(cluster, front=count)
        wait_until(lambda: set(where(cluster, "front")) == {"near"}, timeout=timeout, what="moves", child=program.child)
        wait_until(lambda: bool(moves(cluster, "Done")), timeout=timeout, what="moves judged", child=program.child)
        wait_until(lambda: bool(notes(cluster, "Moved", "front")), timeout=timeout, what="events", child=program.child)
        tidy(cluster)


def test_it_works_with_the_printed_role_and_is_refused_nothing(
    cluster: Cluster, placing: Program, tmp_path: Path
) -> None:
    program = start(cluster, tmp_path)
    try:
        exercise(cluster, program, timeout=60)
    finally:
        program.stop()
    assert not used_and_refused(cluster.audit_log)[1]
    assert unused(cluster.audit_log, DESCHEDULER_RULES, DESCHEDULER_LEASE_RULES) <= {AGAIN}


def test_it_may_not_delete_pods_or_read_secrets(cluster: Cluster) -> None:
    for method, path in (("GET", "/api/v1/secrets"), ("DELETE", "/api/v1/namespaces/default/pods/x")):
        with pytest.raises(Refused) as refused:
            cluster.call(method, path, user="ecotone")
        assert refused.value.status == 403


def breaks_without(cluster: Cluster, directory: Path, role: str, name: str, rule: dict[str, Any]) -> None:
    with lacking(cluster, DESCHEDULER, role, rule):
        program = start(cluster, directory)
        try:
            try:
                exercise(cluster, program, timeout=15)
            except (TimeoutError, RuntimeError):
                return
            assert "forbidden" in program.child.log.read_text(), f"nothing missed the right to {name}"
        finally:
            program.kill()
            tidy(cluster)


@pytest.mark.slow
@pytest.mark.parametrize("choice", range(len(SINGLE_RULES)))
def test_without_any_rule_something_stops(cluster: Cluster, placing: Program, tmp_path: Path, choice: int) -> None:
    breaks_without(cluster, tmp_path, *SINGLE_RULES[choice])
