"""Terms of leadership of any program that elects a leader, lived through in virtual time on an API server in memory.

However a term ends (by a signal, a lease that another took, a leader that cannot reach the server), the work of the term
ends with it, the process ends within five seconds of a signal, and the same replica can lead again.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, Protocol

from ecotone.kube.lease import LeaseTimes
from services.fake_api import FakeApi, node, serving

LEASE = LeaseTimes(duration=3, renew_deadline=2, retry_period=0.4)
PATIENCE = 5.0


class Program(Protocol):
    """What a test asks of a program."""

    metrics: Any

    def stop(self) -> None: ...

    async def run(self) -> None: ...


Make = Callable[[FakeApi, str], Program]
"""A program for this server, with this identity and the lease times above."""


class Replica:
    """A program in this process that can be stopped and started again."""

    def __init__(self, api: FakeApi, identity: str, make: Make) -> None:
        self.identity = identity
        self._api = api
        self._make = make
        self._task: asyncio.Task[None] | None = None
        self.program: Program

    def start(self) -> Replica:
        self.program = self._make(self._api, self.identity)
        self._task = asyncio.create_task(self.program.run())
        return self

    @property
    def leads(self) -> bool:
        families = self.program.metrics.registry.collect()
        return any(each.value for family in families if family.name.endswith("_leader") for each in family.samples)

    async def stop(self) -> float:
        """As SIGTERM does; the seconds until it had ended."""
        assert self._task is not None
        started = time.monotonic()
        self.program.stop()
        async with asyncio.timeout(PATIENCE):
            await self._task
        return time.monotonic() - started


def leads(replica: Replica) -> bool:
    return replica.leads


async def until(condition: Callable[[], bool], *, what: str, seconds: float = PATIENCE) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None


def holder(api: FakeApi, lease_name: str) -> str:
    lease = api.find("leases", lease_name, "kube-system")
    return "" if lease is None else lease["spec"]["holderIdentity"] or ""


async def end_by_signal(api: FakeApi, leader: Replica, lease_name: str) -> None:
    assert await leader.stop() < PATIENCE
    assert holder(api, lease_name) != leader.identity, "the lease was left to run out"
    leader.start()


async def end_by_lost_lease(api: FakeApi, leader: Replica, lease_name: str) -> None:
    lease = api.find("leases", lease_name, "kube-system")
    assert lease is not None
    lease["spec"]["holderIdentity"] = "somebody-else"
    await api.put("leases", lease)
    await until(lambda: not leader.leads, what="insight that the lease is another's")


async def end_by_pause(api: FakeApi, leader: Replica, _: str) -> None:
    """Seen from the server, a paused process and one whose requests are held back are the same."""
    api.held = lambda request: leader.identity in request.headers.get("User-Agent", "")
    await until(lambda: not leader.leads, what="end of a term without renewal")
    api.held = lambda _: False


ENDS = (end_by_signal, end_by_lost_lease, end_by_pause)


@asynccontextmanager
async def nothing(_: FakeApi) -> AsyncIterator[None]:
    yield


async def terms(
    make: Make,
    count: int,
    *,
    first: int,
    lease_name: str,
    busy: Callable[[FakeApi], AbstractAsyncContextManager[None]] = nothing,
) -> FakeApi:
    """So many terms of two replicas while ``busy`` is entered; afterwards each of them must lead when it is alone."""
    ways = itertools.islice(itertools.cycle(ENDS), first, None)
    async with serving() as api:
        for number in range(4):
            await api.put("nodes", node(f"n{number}"))
        replicas = [Replica(api, f"replica-{number}", make).start() for number in range(2)]
        async with busy(api):
            for _ in range(count):
                await until(lambda: any(one.leads for one in replicas), what="a leader")
                leader = next(one for one in replicas if one.leads)
                await next(ways)(api, leader, lease_name)
            await until(lambda: any(one.leads for one in replicas), what="a leader at the end")
        for one in replicas:
            assert await one.stop() < PATIENCE
        # Each replica leads again when it is alone: nobody is deaf.
        for one in replicas:
            one.start()
            await until(partial(leads, one), what=f"{one.identity} leading again")
            assert await one.stop() < PATIENCE
        return api
