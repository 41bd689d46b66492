"""Terms of leadership with real processes: however one ends, the process ends within five seconds of a signal."""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.waiting import clear

LEASE = (
    "--leader-elect",
    "--lease-name=terms",
    "--lease-duration=3.0",
    "--lease-renew-deadline=2.0",
    "--lease-retry-period=0.25",
    "--request-timeout=1.0",
)
PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/terms"


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(controllers=False)
    yield cluster
    cluster.stop()


def leads(program: Program) -> bool:
    try:
        return program.metric("ecotone_scheduler_leader") == 1
    except OSError:
        return False


def leader_of(replicas: list[Program]) -> Program:
    found: list[Program] = []

    def somebody() -> bool:
        found[:] = [one for one in replicas if leads(one)]
        return bool(found)

    wait_until(somebody, timeout=60, what="leader", child=replicas[0].child)
    return found[0]


def run_terms(cluster: Cluster, count: int, *, seed: int) -> None:
    draw = random.Random(seed)
    cluster.create(*(node(f"n{number}", cpu="64", pods="2000") for number in range(3)))
    replicas = [scheduler(cluster, *LEASE).wait_ready() for _ in range(2)]
    serial = itertools.count()
    try:
        for _ in range(count):
            leader = leader_of(replicas)
            cluster.create(*(pod(f"t{next(serial)}", cpu="1m", memory="1Mi") for _ in range(10)))
            match draw.choice(["signal", "lost", "paused"]):
                case "signal":
                    started = time.monotonic()
                    assert leader.stop() == 0
                    assert time.monotonic() - started < 5.0
                    replicas[replicas.index(leader)] = scheduler(cluster, *LEASE)
                case "lost":
                    take_away(cluster)
                    wait_until(lambda leader=leader: not leads(leader), timeout=30, what="insight")  # type: ignore[misc]
                case "paused":
                    leader.child.signal(signal.SIGSTOP)
                    other = next(one for one in replicas if one is not leader)
                    wait_until(partial(leads, other), timeout=60, what="the other leads", child=other.child)
                    leader.child.signal(signal.SIGCONT)
        for one in replicas:
            one.wait_ready()
        alone_again(cluster, replicas)
    finally:
        for one in replicas:
            if one.child.running:
                one.kill()
        clear(cluster)


def take_away(cluster: Cluster) -> None:
    """Somebody else's name in the lease; a renewal in the same moment is answered with a conflict."""
    merge = "application/merge-patch+json"
    cluster.call("PATCH", PATH, {"spec": {"holderIdentity": "somebody-else"}}, content_type=merge)


def alone_again(cluster: Cluster, replicas: list[Program]) -> None:
    """Each replica leads when the other has gone: nobody is deaf."""
    first = leader_of(replicas)
    second = next(one for one in replicas if one is not first)
    started = time.monotonic()
    assert first.stop() == 0
    assert time.monotonic() - started < 5.0
    wait_until(lambda: leads(second), timeout=60, what="the second leads", child=second.child)
    started = time.monotonic()
    assert second.stop() == 0
    assert time.monotonic() - started < 5.0


def test_terms_end_and_every_replica_leads_again(cluster: Cluster) -> None:
    run_terms(cluster, 5, seed=1)


@pytest.mark.slow
def test_thirty_terms_end_and_every_replica_leads_again(cluster: Cluster) -> None:
    run_terms(cluster, 30, seed=2)


PROGRAMS = {
    "scheduler": ("scheduler", "--scheduler-name=ecotone", "--policy=ecotone", *LEASE),
    "extender": ("extender", "--policy=ecotone"),
    "descheduler": ("descheduler", "--leader-elect", "--lease-name=moving"),
    "monitor": ("monitor", "--prometheus=http://127.0.0.1:9", "--leader-elect", "--lease-name=measuring"),
    "probe": ("probe", "--node=n0", "--namespace=default"),
}


@pytest.mark.parametrize("answering", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_program_ends_within_five_seconds_of_the_signal(cluster: Cluster, answering: bool) -> None:
    """Also while the API server is paused: requests, watches and leases are under way and get no answer."""
    cluster.create(node("n0", cpu="64", pods="2000"))
    programs = {name: Program(cluster, *arguments) for name, arguments in PROGRAMS.items()}
    for one in programs.values():
        one.wait_ready()
    wait_until(lambda: leads(programs["scheduler"]), timeout=60, what="leading scheduler")
    cluster.create(*(pod(f"last-{number}", cpu="1m", memory="1Mi") for number in range(10)))
    if not answering:
        cluster.apiserver.signal(signal.SIGSTOP)
    try:
        started = time.monotonic()
        for one in programs.values():
            one.child.signal(signal.SIGTERM)
        codes = {name: one.child.wait(6.0) for name, one in programs.items()}
        assert time.monotonic() - started < 5.0
    finally:
        cluster.apiserver.signal(signal.SIGCONT)
        for one in programs.values():
            one.kill()
        clear(cluster)
    if answering:
        assert set(codes.values()) == {0}
