"""Terms of leadership: however one ends, the loop ends with it, and the same replica can lead again."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
from aiohttp import web

import virtual_time
from ecotone.kube.client import ApiClient
from ecotone.kube.lease import Elector, LeaseTimes
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services.health import Health
from ecotone.services.running import wait_at_most
from ecotone.services.scheduler.program import SchedulerProgram
from ecotone.services.scheduler.settings import SchedulerSettings
from services.fake_api import FakeApi, node, pod, serving
from services.terms import ENDS, LEASE, PATIENCE, Replica, holder, terms, until

LEASE_NAME = "ecotone-scheduler"


def settings(identity: str, *, lease: LeaseTimes = LEASE) -> SchedulerSettings:
    return SchedulerSettings(
        {"ecotone": resolve("kube-default")},
        leader_elect=True,
        lease=lease,
        identity=identity,
        request_timeout=lease.renew_deadline / 2,
    )


def replica(api: FakeApi, identity: str, *, lease: LeaseTimes = LEASE) -> Replica:
    return Replica(api, identity, partial(program, lease=lease))


def program(api: FakeApi, identity: str, *, lease: LeaseTimes = LEASE) -> SchedulerProgram:
    return SchedulerProgram(
        api.connection(), settings(identity, lease=lease), listen=None, clock=lambda: time.monotonic()
    )


@asynccontextmanager
async def arriving(api: FakeApi, *, every: float = 0.1) -> AsyncIterator[None]:
    """Pods that keep coming, so that work arrives in the very moments in which terms end."""

    async def create() -> None:
        for number in itertools.count():
            await api.put("pods", pod(f"p{number}"))
            if number >= 20:
                await api.remove("pods", f"p{number - 20}", "default")
            await asyncio.sleep(every)

    task = asyncio.create_task(create())
    try:
        yield
    finally:
        task.cancel()


async def scheduler_terms(count: int, *, first: int) -> None:
    api = await terms(program, count, first=first, lease_name=LEASE_NAME, busy=arriving)
    assert any("nodeName" in one["spec"] for one in api.all("pods")), "no pod was bound in all these terms"


def test_every_term_ends_and_every_replica_leads_again() -> None:
    virtual_time.run(scheduler_terms(9, first=0))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(8))
def test_two_hundred_terms_end(first: int) -> None:
    virtual_time.run(scheduler_terms(25, first=first % len(ENDS)))


def test_a_cancellation_in_the_turn_of_the_event_is_not_swallowed() -> None:
    async def main() -> int:
        ended = 0
        for _ in range(200):
            event = asyncio.Event()

            async def wait(event: asyncio.Event = event) -> None:
                while True:
                    await wait_at_most(event, 10)
                    event.clear()

            task = asyncio.create_task(wait())
            await asyncio.sleep(0)
            event.set()
            task.cancel()
            done, _ = await asyncio.wait({task}, timeout=0.05)
            ended += bool(done)
        return ended

    assert asyncio.run(main()) == 200


@pytest.mark.parametrize("late", [0.3, 1.0])
def test_the_lease_is_released_although_the_server_answers_late(late: float) -> None:
    """A renewal is under way when the signal comes; its answer, and that to the release, take their time."""
    lease = LeaseTimes(duration=15, renew_deadline=10, retry_period=0.2)

    async def main() -> tuple[float, str]:
        async with serving() as api:
            await api.put("nodes", node("n0"))
            slow = replica(api, "slow", lease=lease).start()
            await until(lambda: slow.leads, what="leader")
            api.late = lambda request: late if "/leases/" in request.path else 0.0
            renewals = len(api.requests)
            await until(
                lambda: any(method == "PUT" and "/leases/" in path for method, path, _ in api.requests[renewals:]),
                what="a renewal under way",
            )
            return await slow.stop(), holder(api, LEASE_NAME)

    seconds, left = virtual_time.run(main())
    assert left == ""
    assert seconds < PATIENCE


def test_a_candidate_that_is_stopped_while_it_takes_the_lease_gives_it_back() -> None:
    async def main() -> str:
        async with serving() as api:
            await api.put("nodes", node("n0"))
            api.late = lambda request: 0.5 if request.method == "POST" and "leases" in request.path else 0.0
            brief = replica(api, "brief").start()
            await until(lambda: holder(api, LEASE_NAME) == "brief", what="a lease taken but not yet known to be")
            assert not brief.leads
            await brief.stop()
            return holder(api, LEASE_NAME)

    assert virtual_time.run(main()) == ""


def test_a_server_that_never_answers_does_not_keep_the_process() -> None:
    async def main() -> float:
        async with serving() as api:
            await api.put("nodes", node("n0"))
            stuck = replica(api, "stuck", lease=LeaseTimes()).start()
            await until(lambda: stuck.leads, what="leader")
            for number in range(20):
                await api.put("pods", pod(f"p{number}"))
            api.held = lambda _: True
            await asyncio.sleep(0)
            seconds = await stuck.stop()
            api.held = lambda _: False
            return seconds

    assert virtual_time.run(main()) < PATIENCE


def test_an_election_that_does_not_turn_is_unhealthy() -> None:
    now = [0.0]
    health = Health(clock=lambda: now[0])
    pulse = health.expect("leader election", within=15)

    async def main() -> tuple[int, str | None, str | None, str | None]:
        async with serving() as api, ApiClient(api.connection()) as client:
            elector = Elector(client, namespace="kube-system", name="l", identity="me", times=LEASE, turned=pulse.beat)
            resting = health.complaint()
            await elector.acquire()
            now[0] = 15.0
            fresh = health.complaint()
            now[0] = 15.1
            return len(api.requests), resting, fresh, health.complaint()

    requests, resting, fresh, stale = virtual_time.run(main())
    assert requests
    assert resting is None
    assert fresh is None
    assert stale is not None
    assert "leader election: no sign of life for 15.1 s" in stale


def test_answers_that_are_no_leases_do_not_end_the_election() -> None:
    async def main() -> bool:
        async with serving() as api:
            await api.put("nodes", node("n0"))
            patient = replica(api, "patient")
            broken = [True]

            def refused(request: web.Request) -> tuple[int, dict[str, object]] | None:
                return (200, {"metadata": 3}) if broken[0] and "/leases/" in request.path else None

            api.refused = refused
            patient.start()
            await until(lambda: sum("/leases/" in path for _, path, _ in api.requests) > 3, what="attempts")
            broken[0] = False
            await until(lambda: patient.leads, what="leader")
            await patient.stop()
            return True

    assert virtual_time.run(main())
