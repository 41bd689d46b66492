"""A descheduler's terms of leadership: however one ends, its rounds end with it, and the same replica can lead again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest

import virtual_time
from ecotone.services.descheduler.program import DeschedulerProgram
from services.descheduler.world import World, app_group, descheduler_settings
from services.fake_api import FakeApi, serving
from services.terms import LEASE, PATIENCE, Replica, terms, until

LEASE_NAME = "ecotone-descheduler"


def program(api: FakeApi, identity: str) -> DeschedulerProgram:
    settings = descheduler_settings(
        identity=identity,
        leader_elect=True,
        lease=LEASE,
        lease_name=LEASE_NAME,
        scheduler_lease="",
        request_timeout=1.0,
    )
    return DeschedulerProgram(api.connection(), settings, listen=None, clock=lambda: time.monotonic())


@contextlib.asynccontextmanager
async def moving(api: FakeApi) -> AsyncIterator[None]:
    """An application with pods to move, whose controllers are at work."""
    world = World(api)
    await world.build(descheduler={"coolDownSeconds": 0})
    task = asyncio.create_task(world.control())
    try:
        yield
    finally:
        task.cancel()


def test_every_term_ends_and_every_replica_leads_again() -> None:
    async def main() -> FakeApi:
        return await terms(program, 9, first=0, lease_name=LEASE_NAME, busy=moving)

    (group,) = virtual_time.run(main()).all("appgroups")
    assert group["status"]["conditions"], "no round was reported in all these terms"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3))
def test_many_terms_end(first: int) -> None:
    async def main() -> None:
        await terms(program, 25, first=first, lease_name=LEASE_NAME, busy=moving)

    virtual_time.run(main())


def test_a_server_that_never_answers_does_not_keep_the_process() -> None:
    async def main() -> float:
        async with serving() as api:
            one = Replica(api, "stuck", program).start()
            await until(lambda: one.leads, what="leader")
            await api.put("appgroups", app_group())
            api.held = lambda _: True
            await asyncio.sleep(0.5)
            seconds = await one.stop()
            api.held = lambda _: False
            return seconds

    assert virtual_time.run(main()) < PATIENCE
