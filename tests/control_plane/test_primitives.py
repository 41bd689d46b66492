"""Leases, bindings, evictions and dry runs, as the real API server sees them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from ecotone.kube import ApiClient, Elector, EvictionOutcome, LeaseTimes, Outcome, bind, connect, evict, preempt
from ecotone.kube.resources import PODS

QUICK = LeaseTimes(duration=2.0, renew_deadline=1.4, retry_period=0.1)


def with_client(cluster: Cluster, work: Callable[[ApiClient], Awaitable[None]]) -> None:
    async def run() -> None:
        async with ApiClient(connect(kubeconfig=str(cluster.kubeconfig))) as client:
            await work(client)

    asyncio.run(run())


def uid(cluster: Cluster, name: str) -> str:
    return str(cluster.call("GET", f"/api/v1/namespaces/default/pods/{name}")["metadata"]["uid"])


def elector(client: ApiClient, identity: str) -> Elector:
    return Elector(client, namespace="default", name="candidates", identity=identity, times=QUICK)


def test_a_second_candidate_waits_until_the_first_is_silent(cluster: Cluster) -> None:
    async def work(client: ApiClient) -> None:
        first, second = elector(client, "first"), elector(client, "second")
        await first.acquire()
        waiting = asyncio.create_task(second.acquire())
        renewing = asyncio.create_task(first.hold())
        done, _ = await asyncio.wait({waiting}, timeout=1.5 * QUICK.duration)
        assert not done
        assert first.leading
        renewing.cancel()
        await asyncio.wait_for(waiting, 60)
        assert second.leading
        assert not first.leading, "the old leader knows by its own clock that it must not act"

    with_client(cluster, work)


def test_a_released_lease_is_taken_at_once(cluster: Cluster) -> None:
    async def work(client: ApiClient) -> None:
        slow = LeaseTimes(duration=30, renew_deadline=20, retry_period=0.05)
        first, second = (
            Elector(client, namespace="default", name="handover", identity=name, times=slow) for name in ("a", "b")
        )
        await first.acquire()
        await first.release()
        await asyncio.wait_for(second.acquire(), 20)
        assert second.transitions == 1

    with_client(cluster, work)


def test_only_one_of_many_candidates_leads(cluster: Cluster) -> None:
    async def work(client: ApiClient) -> None:
        many = [
            Elector(client, namespace="default", name="crowd", identity=f"c{i}", times=LeaseTimes(10, 8, 0.05))
            for i in range(8)
        ]
        tasks = [asyncio.create_task(one.acquire()) for one in many]
        await asyncio.wait(tasks, timeout=60, return_when=asyncio.FIRST_COMPLETED)
        done, pending = await asyncio.wait(tasks, timeout=0.8)
        for task in pending:
            task.cancel()
        assert len(done) == 1
        assert sum(one.leading for one in many) == 1

    with_client(cluster, work)


def test_a_pod_is_bound_once_and_the_reason_arrives_with_it(cluster: Cluster) -> None:
    cluster.create(node("b1"), node("b2"), pod("once"))
    who = uid(cluster, "once")

    async def work(client: ApiClient) -> None:
        names: dict[str, Any] = {"namespace": "default", "name": "once"}
        wrong = await bind(client, **names, uid="another", node="b1")
        first = await bind(client, **names, uid=who, node="b1", annotations={"ecotone.dev/why": "because"})
        again = await bind(client, **names, uid=who, node="b1")
        other = await bind(client, **names, uid=who, node="b2")
        assert [one.outcome for one in (wrong, first, again, other)] == [
            Outcome.GONE,
            Outcome.BOUND,
            Outcome.BOUND,
            Outcome.TAKEN,
        ]

    with_client(cluster, work)
    bound = cluster.call("GET", "/api/v1/namespaces/default/pods/once")
    assert bound["spec"]["nodeName"] == "b1"
    assert bound["metadata"]["annotations"]["ecotone.dev/why"] == "because"


def test_a_gated_pod_cannot_be_bound(cluster: Cluster) -> None:
    cluster.create(pod("gated", schedulingGates=[{"name": "test/wait"}]))

    async def work(client: ApiClient) -> None:
        result = await bind(client, namespace="default", name="gated", uid=uid(cluster, "gated"), node="b1")
        assert result.outcome is Outcome.REFUSED

    with_client(cluster, work)


def test_an_eviction_names_the_very_pod_and_can_be_rehearsed(cluster: Cluster) -> None:
    cluster.create(pod("mover", nodeName="b1"))
    who = uid(cluster, "mover")

    async def work(client: ApiClient) -> None:
        names: dict[str, Any] = {"namespace": "default", "name": "mover"}
        assert (await evict(client, **names, uid="another")).outcome is EvictionOutcome.CHANGED
        assert (await evict(client, **names, uid=who, resource_version="1")).outcome is EvictionOutcome.CHANGED
        assert (await evict(client, **names, uid=who, dry_run=True)).outcome is EvictionOutcome.EVICTED
        assert uid(cluster, "mover") == who
        assert (await evict(client, **names, uid=who)).outcome is EvictionOutcome.EVICTED
        assert (await evict(client, **names, uid=who)).outcome is EvictionOutcome.CHANGED

    with_client(cluster, work)


def test_a_victim_is_told_before_it_is_deleted(cluster: Cluster) -> None:
    cluster.create(pod("victim", nodeName="b1", terminationGracePeriodSeconds=30))
    who = uid(cluster, "victim")

    async def work(client: ApiClient) -> None:
        assert not await preempt(client, namespace="default", name="victim", uid="another", message="x")
        assert await preempt(client, namespace="default", name="victim", uid=who, message="make room")

    with_client(cluster, work)
    victim = cluster.call("GET", "/api/v1/namespaces/default/pods/victim")
    assert victim["metadata"]["deletionTimestamp"]
    conditions = {one["type"]: one for one in victim["status"]["conditions"]}
    assert conditions["DisruptionTarget"]["reason"] == "PreemptionByScheduler"


def test_a_dry_run_creates_nothing(cluster: Cluster) -> None:
    async def work(client: ApiClient) -> None:
        await client.create(PODS, pod("rehearsal"), namespace="default", dry_run=True)

    with_client(cluster, work)
    assert "rehearsal" not in {one["metadata"]["name"] for one in cluster.pods()}
