"""``ecotone serve scheduler`` as a whole: mirrors, leadership, endpoints, and an orderly end.

Mirrors run from the start, so a standby is warm. Whoever becomes leader first lists pods and nodes again and waits for
it: what the previous leader bound in its last moments must be seen before the first decision of the new one. When the
lease is lost, or on SIGTERM, deciding stops at once, bindings under way get a moment, and the lease is handed over
instead of left to run out. Every step of the end has a bound of its own; together they stay below the five seconds of
``lifecycle``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.lease import Elector
from ecotone.kube.writing.events import EventRecorder
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles.profile import Profile
from ecotone.services.feeds import Feeds
from ecotone.services.health import Health
from ecotone.services.running import background, first, spare_the_cache_from_collection
from ecotone.services.scheduler.metrics import SchedulerMetrics
from ecotone.services.scheduler.pod_writer import PodWriter
from ecotone.services.scheduler.scheduler import LANDING_SECONDS, Scheduler
from ecotone.services.scheduler.settings import SchedulerSettings
from ecotone.services.scheduler.start import LEASE_CONNECTIONS, REVIEW_CONNECTIONS, open_client

log = logging.getLogger(__name__)

EVENT_SECONDS = 0.5


class SchedulerProgram:
    """``clock`` is everybody's: what one part calls the end of the lease must be the same moment for all."""

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        listen: str | None,
        client: ApiClient | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``client`` is an open one, where somebody has begun to ask already; it stays its owner's to close."""
        self._client = client
        self._clock = clock
        self._connection = connection
        self._settings = settings
        self._listen = listen
        self._stopping = asyncio.Event()
        self._synced = False
        self._elector: Elector | None = None
        self._health = Health(clock=clock)
        self._election = self._health.expect("leader election", within=settings.lease.duration)
        self.metrics = SchedulerMetrics()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Serves until ``stop`` is called."""
        settings = self._settings
        agent = f"ecotone-scheduler/{settings.identity}"
        async with (
            open_client(self._connection, identity=settings.identity, bindings=settings.bindings_in_flight)
            if self._client is None
            else contextlib.nullcontext(self._client) as client,
            # Its own connections: renewing the lease must never queue behind a thousand bindings, and callers of
            # /decisions must not be able to take those of either.
            ApiClient(
                self._connection, user_agent=f"{agent} leader-election", connections=LEASE_CONNECTIONS
            ) as lease_client,
            ApiClient(
                self._connection, user_agent=f"{agent} reviews", timeout=5, connections=REVIEW_CONNECTIONS
            ) as review_client,
        ):
            recorder = EventRecorder(
                client, controller=next(iter(settings.profiles)), instance=settings.identity, clock=self._clock
            )
            writer = PodWriter(client, deadline=self._deadline, request_timeout=settings.request_timeout)
            scheduler = Scheduler(
                settings,
                writer=writer,
                recorder=recorder,
                explain=_explain,
                metrics=self.metrics,
                clock=self._clock,
                pulse=self._health.expect("deciding", within=settings.lease.duration),
            )
            feeds = Feeds(
                client, scheduler.cache, silence=settings.silence, trust_annotations=settings.trust_annotations
            )
            lease = Elector(
                lease_client,
                namespace=settings.lease_namespace,
                name=settings.lease_name,
                identity=settings.identity,
                times=settings.lease,
                turned=self._election.beat,
                clock=self._clock,
            )
            if settings.leader_elect:
                self._elector = lease
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(background(feeds.run(), recorder.run()))
                if self._listen is not None:
                    await stack.enter_async_context(self._listening(self._listen, review_client, scheduler, feeds))
                if self._elector is None:
                    # Others (a descheduler) look at the lease to see that somebody will place what they move.
                    stack.push_async_callback(lease.release, seconds=EVENT_SECONDS)
                    await stack.enter_async_context(background(lease.announce()))
                await self._serve(scheduler, feeds)
                await recorder.drain(EVENT_SECONDS)

    @contextlib.asynccontextmanager
    async def _listening(
        self, listen: str, review_client: ApiClient, scheduler: Scheduler, feeds: Feeds
    ) -> AsyncIterator[None]:
        from ecotone.services.scheduler.endpoints import scheduler_endpoints

        endpoints = scheduler_endpoints(
            scheduler, feeds, review_client=review_client, health=self._health, why_not_ready=self._why_not_ready
        )
        await endpoints.start(listen)
        try:
            yield
        finally:
            await endpoints.stop()

    def _deadline(self) -> float | None:
        return None if self._elector is None else self._elector.deadline()

    async def _serve(self, scheduler: Scheduler, feeds: Feeds) -> None:
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await first(stopping, feeds.wait_synced())
            spare_the_cache_from_collection(collect=False)
            self._synced = True
            while not self._stopping.is_set():
                await self._term(scheduler, feeds, stopping)
        finally:
            stopping.cancel()

    async def _term(self, scheduler: Scheduler, feeds: Feeds, stopping: asyncio.Future[Any]) -> None:
        """One term of leadership, or the only one when there is no election."""
        if self._elector is None:
            await self._decide(scheduler, [stopping])
            return
        holding: asyncio.Future[None] | None = None
        try:
            await first(stopping, self._elector.acquire())
            if self._stopping.is_set():
                return
            holding = asyncio.ensure_future(self._elector.hold())
            await first(stopping, holding, feeds.resync())
            if not self._stopping.is_set() and not holding.done():
                await self._decide(scheduler, [stopping, holding])
        finally:
            if holding is not None:
                holding.cancel()
                await asyncio.gather(holding, return_exceptions=True)
            await self._elector.release()

    async def _decide(self, scheduler: Scheduler, until: list[asyncio.Future[Any]]) -> None:
        """Decides until one of these is done; what was under way has ended when this returns."""
        self.metrics.leader.set(1)
        scheduler.start_term()
        deciding = asyncio.create_task(scheduler.run())
        try:
            await asyncio.wait([*until, deciding], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.metrics.leader.set(0)
            scheduler.end_term()
            deciding.cancel()
            await asyncio.wait({deciding}, timeout=LANDING_SECONDS + 1.0)
        if not deciding.done():
            # Leading again beside it would be two schedulers in one process.
            raise RuntimeError("the scheduling loop did not end with its term")
        if not deciding.cancelled() and (error := deciding.exception()) is not None:
            raise error

    def _why_not_ready(self) -> str | None:
        return None if self._synced else "the caches are not filled yet"


def _explain(profile: Profile, pod: Pod, view: Snapshot) -> dict[str, Any]:
    from ecotone.scheduling.explanation import document, explain  # when somebody asks

    return document(explain(view, profile, pod.key))
