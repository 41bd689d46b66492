"""Two replicas, killed and restarted at random: nothing bound twice, nothing over-committed, nothing forgotten."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial

import pytest

from control_plane.bindings import BindingWatch
from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import Program, scheduler
from control_plane.waiting import clear, notes, placement, wait_bound
from fair.waits import patience

LEASE = (
    "--leader-elect",
    "--lease-duration=2.0",
    "--lease-renew-deadline=1.4",
    "--lease-retry-period=0.2",
    "--request-timeout=0.8",
)
NODES = 10


@pytest.fixture(scope="module")
def cluster(shared_cluster: Cluster) -> Cluster:
    return shared_cluster


@pytest.fixture(autouse=True)
def empty(cluster: Cluster) -> Iterator[None]:
    yield
    clear(cluster)


def replica(cluster: Cluster, *more: str) -> Program:
    return scheduler(cluster, *LEASE, *more)


def has_bound(watch: BindingWatch, goal: int) -> bool:
    return watch.bound >= goal


def kill_and_restart(cluster: Cluster, *, rounds: int, pods: int, seed: int) -> None:
    draw = random.Random(seed)
    each = pods // rounds
    # Exactly enough room for all: a single miscount shows.
    room = -(-pods // NODES)
    cluster.create(*(node(f"n{number}", cpu=f"{100 * room}m", pods="1000", memory="100Gi") for number in range(NODES)))
    watch = BindingWatch(cluster)
    replicas = [replica(cluster).wait_ready(), replica(cluster).wait_ready()]
    try:
        for turn in range(rounds):
            cluster.create(*(pod(f"t{turn:02}-{number:03}", cpu="100m", memory="1Mi") for number in range(each)))
            # The victim dies somewhere between the first and the last binding of this round.
            goal = turn * each + draw.randint(1, each)
            wait_until(partial(has_bound, watch, goal), timeout=60, what=f"{goal} bindings", every=0.003)
            victim = draw.randrange(2)
            replicas[victim].kill()
            replicas[victim] = replica(cluster)
        wait_until(lambda: watch.bound >= rounds * each, timeout=60, what="all pods", promise="lost", every=0.05)
        watch.check(bound=rounds * each, capacity={f"n{number}": room for number in range(NODES)})
    finally:
        for one in replicas:
            one.kill()
        watch.stop()


def test_replicas_killed_at_random_moments(cluster: Cluster) -> None:
    kill_and_restart(cluster, rounds=3, pods=240, seed=1)


@pytest.mark.slow
def test_replicas_killed_at_random_moments_for_long(cluster: Cluster) -> None:
    kill_and_restart(cluster, rounds=25, pods=2500, seed=2)


def test_leadership_is_handed_over_at_once_on_sigterm(cluster: Cluster) -> None:
    slow = ("--lease-duration=30", "--lease-renew-deadline=20", "--lease-retry-period=0.1", "--request-timeout=2")
    cluster.create(node("n0"))
    first = scheduler(cluster, "--leader-elect", "--lease-name=handover", *slow).wait_ready()
    wait_until(lambda: first.metric("ecotone_scheduler_leader") == 1, timeout=30, what="leader")
    second = scheduler(cluster, "--leader-elect", "--lease-name=handover", *slow).wait_ready()
    assert second.metric("ecotone_scheduler_leader") == 0
    try:
        started = time.monotonic()
        assert first.stop() == 0
        wait_until(lambda: second.metric("ecotone_scheduler_leader") == 1, timeout=5, what="new leader")
        assert time.monotonic() - started < min(5 * patience(), 20), "the lease of thirty seconds was not waited out"
        cluster.create(pod("after"))
        wait_bound(cluster, 1, child=second.child)
    finally:
        second.kill()


def test_a_paused_leader_binds_nothing_twice(cluster: Cluster) -> None:
    cluster.create(*(node(f"n{number}", cpu="2") for number in range(4)))
    watch = BindingWatch(cluster)
    first = replica(cluster).wait_ready()
    wait_until(lambda: first.metric("ecotone_scheduler_leader") == 1, timeout=30, what="leader")
    second = replica(cluster).wait_ready()
    try:
        cluster.create(*(pod(f"a{number:02}", cpu="100m") for number in range(40)))
        wait_until(lambda: watch.bound >= 5, timeout=20, what="some bindings", every=0.002)
        first.child.signal(signal.SIGSTOP)
        wait_until(lambda: second.metric("ecotone_scheduler_leader") == 1, timeout=30, what="second leader")
        cluster.create(*(pod(f"b{number:02}", cpu="100m") for number in range(40)))
        wait_until(lambda: watch.bound >= 80, timeout=30, what="all bindings", promise="lost")
        first.child.signal(signal.SIGCONT)
        wait_until(lambda: first.metric("ecotone_scheduler_leader") == 0, timeout=30, what="insight")
        watch.check(bound=80, capacity={f"n{number}": 20 for number in range(4)})
    finally:
        first.kill()
        second.kill()
        watch.stop()


def test_the_default_scheduler_on_the_same_nodes(cluster: Cluster) -> None:
    """Two schedulers that do not know of each other: no pod twice, and over-commitment is seen and said."""
    # Pods of both race for the last room: each scheduler counts right and both together too much.
    cluster.create(*(node(f"n{number}", cpu="1") for number in range(6)))
    watch = BindingWatch(cluster)
    ours = scheduler(cluster).wait_ready()
    theirs = cluster.start_kube_scheduler()
    try:
        for number in range(6):
            cluster.create(
                pod(f"ours{number}", cpu="600m"),
                pod(f"theirs{number}", cpu="600m", scheduler="default-scheduler"),
            )
        wait_until(lambda: watch.bound >= 6, timeout=20, what="bindings")
        settled = [0]

        def quiet() -> bool:
            settled.append(watch.bound)
            return len(settled) > 30 and settled[-1] == settled[-30]

        wait_until(quiet, timeout=20, what="quiet", every=0.05)
        assert all(len(nodes) == 1 for nodes in watch.nodes.values() if nodes)
        over = sum(count > 1 for count in Counter(placement(cluster).values()).values())
        wait_until(
            lambda: ours.metric("ecotone_scheduler_overcommitted_nodes") == over, timeout=30, what="honest gauge"
        )
        if over:
            assert ours.metric("ecotone_scheduler_overcommitments_total") >= over
            wait_until(lambda: len(notes(cluster, "OverCommitted")) >= over, timeout=30, what="events")
    finally:
        theirs.stop()
        cluster.forget(theirs)
        ours.kill()
        watch.stop()
