"""``ecotone serve scheduler`` as a whole: mirrors, leadership, endpoints, and an orderly end.

Mirrors run from the start, so a standby is warm. Whoever becomes leader first lists pods and nodes again and waits for
it: what the previous leader bound in its last moments must be seen before the first decision of the new one. When the
lease is lost, or on SIGTERM, deciding stops at once, bindings under way get the time that is left of the lease, and the
lease is handed over instead of left to run out.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import AsyncIterator, Awaitable
from typing import Any

from aiohttp import web

from ecotone.kube.client import ApiClient
from ecotone.kube.events import EventRecorder
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.lease import Elector
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.explanation import document, explain
from ecotone.scheduling.profile import Profile
from ecotone.services.endpoints import Authoriser, Endpoints
from ecotone.services.feeds import Feeds
from ecotone.services.metrics import SchedulerMetrics
from ecotone.services.pod_writer import PodWriter
from ecotone.services.queue import Place
from ecotone.services.running import run, spare_the_cache_from_collection
from ecotone.services.scheduler import Scheduler
from ecotone.services.settings import SchedulerSettings

log = logging.getLogger(__name__)

EVENT_SECONDS = 1.5


class SchedulerProgram:
    def __init__(self, connection: Connection, settings: SchedulerSettings, *, listen: str | None) -> None:
        self._connection = connection
        self._settings = settings
        self._listen = listen
        self._stopping = asyncio.Event()
        self._synced = False
        self._elector: Elector | None = None
        self.metrics = SchedulerMetrics()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Serves until ``stop`` is called."""
        settings = self._settings
        connections = settings.bindings_in_flight + 32
        agent = f"ecotone-scheduler/{settings.identity}"
        async with (
            ApiClient(self._connection, user_agent=agent, connections=connections) as client,
            # Its own connections: renewing the lease must never queue behind a thousand bindings.
            ApiClient(self._connection, user_agent=f"{agent} leader-election", connections=2) as lease_client,
        ):
            recorder = EventRecorder(client, controller=next(iter(settings.profiles)), instance=settings.identity)
            writer = PodWriter(client, deadline=self._deadline, request_timeout=settings.request_timeout)
            scheduler = Scheduler(settings, writer=writer, recorder=recorder, explain=_explain, metrics=self.metrics)
            feeds = Feeds(client, scheduler, silence=settings.silence)
            endpoints = self._endpoints(client, scheduler, feeds)
            if settings.leader_elect:
                self._elector = Elector(
                    lease_client,
                    namespace=settings.lease_namespace,
                    name=settings.lease_name,
                    identity=settings.identity,
                    times=settings.lease,
                )
            async with contextlib.AsyncExitStack() as stack:
                if self._listen is not None:
                    await endpoints.start(self._listen)
                    stack.push_async_callback(endpoints.stop)
                await stack.enter_async_context(_running(feeds.run(), recorder.run()))
                await self._serve(scheduler, feeds)
                await recorder.drain(EVENT_SECONDS)

    def _deadline(self) -> float | None:
        return None if self._elector is None else self._elector.deadline()

    async def _serve(self, scheduler: Scheduler, feeds: Feeds) -> None:
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await _first(stopping, feeds.wait_synced())
            spare_the_cache_from_collection()
            self._synced = True
            while not self._stopping.is_set():
                await self._term(scheduler, feeds, stopping)
        finally:
            stopping.cancel()

    async def _term(self, scheduler: Scheduler, feeds: Feeds, stopping: asyncio.Future[Any]) -> None:
        """One term of leadership, or the only one when there is no election."""
        elector = self._elector
        holding: asyncio.Future[None] | None = None
        if elector is not None:
            await _first(stopping, elector.acquire())
            if self._stopping.is_set():
                return
            holding = asyncio.ensure_future(elector.hold())
            await _first(stopping, holding, feeds.resync())
        self.metrics.leader.set(1)
        scheduler.start_term()
        deciding = asyncio.create_task(scheduler.run())
        try:
            watched: list[asyncio.Future[Any]] = [stopping, deciding]
            if holding is not None:
                watched.append(holding)
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.metrics.leader.set(0)
            # It answers its cancellation by waiting a moment for the bindings under way.
            deciding.cancel()
            await asyncio.wait({deciding})
            if holding is not None:
                holding.cancel()
                await asyncio.gather(holding, return_exceptions=True)
            if elector is not None:
                await elector.release()
        if not self._stopping.is_set() and deciding.done() and not deciding.cancelled():
            error = deciding.exception()
            if error is not None:
                raise error

    def _endpoints(self, client: ApiClient, scheduler: Scheduler, feeds: Feeds) -> Endpoints:
        endpoints = Endpoints(
            self.metrics.registry, ready=self._why_not_ready, refresh=lambda: self._gauge(scheduler, feeds)
        )
        authoriser = Authoriser(client)

        async def decision(request: web.Request) -> web.StreamResponse:
            namespace, name = request.match_info["namespace"], request.match_info["name"]
            if not await authoriser.allowed(request, namespace=namespace):
                return web.json_response({"error": "not allowed"}, status=403)
            record = scheduler.records.get(f"{namespace}/{name}")
            if record is None:
                return web.json_response({"error": "no decision about this pod is remembered"}, status=404)
            return web.json_response(record)

        endpoints.get("/decisions/{namespace}/{name}", decision)
        return endpoints

    def _why_not_ready(self) -> str | None:
        return None if self._synced else "the caches are not filled yet"

    def _gauge(self, scheduler: Scheduler, feeds: Feeds) -> None:
        metrics = self.metrics
        for place in (Place.ACTIVE, Place.BACKOFF, Place.UNSCHEDULABLE, Place.GATED):
            metrics.pending.labels(place.value).set(scheduler.queue.size(place))
        for (place_name, event), count in scheduler.queue.counts.incoming.items():
            metrics.incoming.labels(place_name, event).set(count)
        for kind, size in scheduler.cache.sizes.items():
            metrics.cache_objects.labels(kind).set(size)
        for reflector in feeds.reflectors:
            metrics.relists.labels(reflector.resource.plural).set(reflector.lists)
            metrics.watch_events.labels(reflector.resource.plural).set(reflector.events)
        metrics.events_dropped.set(scheduler.events_dropped)


@contextlib.asynccontextmanager
async def _running(*works: Awaitable[Any]) -> AsyncIterator[None]:
    """Background work that ends with the block; its failure ends the block."""
    tasks = [asyncio.ensure_future(work) for work in works]
    current = asyncio.current_task()

    def failed(task: asyncio.Future[Any]) -> None:
        if not task.cancelled() and task.exception() is not None and current is not None:
            log.error("background work failed", exc_info=task.exception())
            current.cancel()

    for task in tasks:
        task.add_done_callback(failed)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _first(*works: Awaitable[Any]) -> None:
    """Until the first is done; those started here are cancelled."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task, work in zip(tasks, works, strict=True):
            if task is not work:
                if task.done() and not task.cancelled():
                    task.result()
                task.cancel()


def _explain(profile: Profile, pod: Pod, view: Snapshot) -> dict[str, Any]:
    return document(explain(view, profile, pod.key))


def serve(connection: Connection, settings: SchedulerSettings, *, listen: str | None) -> None:
    """Runs a scheduler until SIGTERM or SIGINT."""

    async def main() -> None:
        program = SchedulerProgram(connection, settings, listen=listen)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, program.stop)
        started = time.monotonic()
        await program.run()
        log.info("stopped after %.0f s", time.monotonic() - started)

    run(main())
