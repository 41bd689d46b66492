"""``ecotone serve monitor`` as a whole: mirrors, leadership, a cycle per resource, endpoints, and an orderly end.

Each Cluster and each AppGroup has its own period. A cycle that takes longer than its period is followed by the next one
at once, never overlapped by it. With an election only the leader asks and writes; a standby's mirrors are warm.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.lease import Elector
from ecotone.kube.writing.events import EventRecorder
from ecotone.services import lifecycle
from ecotone.services.endpoints import Endpoints
from ecotone.services.health import Health, Pulse
from ecotone.services.leadership import lead
from ecotone.services.monitor.application_part import ApplicationPart
from ecotone.services.monitor.cluster_part import ClusterPart
from ecotone.services.monitor.metrics import MonitorMetrics, SeriesTally
from ecotone.services.monitor.reading import CountedSource
from ecotone.services.monitor.reporting import Reporter
from ecotone.services.monitor.settings import MonitorSettings
from ecotone.services.monitor.watched import Watched
from ecotone.services.monitor.writer import Writer
from ecotone.services.running import background, first, wait_at_most
from ecotone.telemetry.prometheus import Prometheus, Source
from ecotone.telemetry.sources.reader import Reader

log = logging.getLogger(__name__)

EVENT_SECONDS = 1.0
CLEAN_SECONDS = 30.0
SHORTEST_PERIOD = 1.0
TURN_SECONDS = 30.0


class MonitorProgram:
    def __init__(
        self,
        connection: Connection,
        settings: MonitorSettings,
        *,
        listen: str | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._listen = listen
        self._clock = clock
        self._stopping = asyncio.Event()
        self._synced = False
        self._elector: Elector | None = None
        self._health = Health(clock=clock)
        self._election = self._health.expect("leader election", within=settings.lease.duration)
        self._turning = self._health.expect("cycles", within=TURN_SECONDS)
        self.metrics = MonitorMetrics()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Serves until ``stop`` is called."""
        settings = self._settings
        agent = f"ecotone-monitor/{settings.identity}"
        async with contextlib.AsyncExitStack() as stack:
            client = await stack.enter_async_context(ApiClient(self._connection, user_agent=agent))
            prometheus = await stack.enter_async_context(Prometheus(settings.prometheus))
            if settings.leader_elect:
                lease = await stack.enter_async_context(ApiClient(self._connection, user_agent=agent, connections=2))
                self._elector = Elector(
                    lease,
                    namespace=settings.lease_namespace,
                    name=settings.lease_name,
                    identity=settings.identity,
                    times=settings.lease,
                    turned=self._election.beat,
                    clock=self._clock,
                )
            if self._listen is not None:
                endpoints = Endpoints(
                    self.metrics.registry,
                    ready=self._why_not_ready,
                    health=self._health,
                    names_for=settings.metrics_token,
                )
                await endpoints.start(self._listen)
                stack.push_async_callback(endpoints.stop)
            watched = Watched()
            watched.attach(
                client,
                cluster=settings.cluster,
                applications=settings.applications,
                sources=not settings.trust.everything,
                silence=settings.silence,
            )
            recorder = EventRecorder(client, controller="ecotone-monitor", instance=settings.identity)
            await stack.enter_async_context(background(watched.run(), recorder.run()))
            cycles = self._cycles(client, watched, recorder, prometheus)
            await self._serve(watched, cycles)
            await recorder.drain(EVENT_SECONDS)

    def _cycles(self, client: ApiClient, watched: Watched, recorder: EventRecorder, source: Source) -> Cycles:
        settings = self._settings
        writer = Writer(
            client,
            self.metrics,
            workloads_per_second=settings.workload_writes_per_second,
            nodes_at_once=settings.node_writes_at_once,
            deadline=lambda: None if self._elector is None else self._elector.deadline(),
        )
        reporter = Reporter(writer, recorder)
        reader = Reader(
            CountedSource(source, self.metrics),
            watched,
            settings.trust,
            place=watched.pod,
            tally=SeriesTally(self.metrics),
        )
        given: tuple[Any, ...] = (reader, watched, writer, reporter, self.metrics)
        return Cycles(
            watched,
            self.metrics,
            cluster=ClusterPart(*given, window=settings.window, rules=settings.rules) if settings.cluster else None,
            applications=ApplicationPart(*given, window=settings.window, rules=settings.rules)
            if settings.applications
            else None,
            pulse=self._turning,
            clock=self._clock,
        )

    async def _serve(self, watched: Watched, cycles: Cycles) -> None:
        await first(self._stopping.wait(), watched.wait_synced())
        self._synced = True
        await lead(self._elector, lambda: self._work(cycles), stopping=self._stopping)

    async def _work(self, cycles: Cycles) -> None:
        """One term."""
        self.metrics.leader.set(1)
        try:
            await cycles.run()
        finally:
            self.metrics.leader.set(0)

    def _why_not_ready(self) -> str | None:
        return None if self._synced else "the caches are not filled yet"


class Cycles:
    """Runs every resource's cycle when it is due."""

    def __init__(
        self,
        watched: Watched,
        metrics: MonitorMetrics,
        *,
        cluster: ClusterPart | None,
        applications: ApplicationPart | None,
        pulse: Pulse,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._watched = watched
        self._metrics = metrics
        self._cluster = cluster
        self._applications = applications
        self._clock = clock
        self._due: dict[tuple[str, str], float] = {}
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._clean_at = clock()
        self._pulse = pulse

    async def run(self) -> None:
        try:
            while True:
                self._pulse.beat()
                self._watched.resources_changed.clear()
                self._start_due()
                soon = min([*self._due.values(), self._clean_at], default=self._clock() + 1)
                await wait_at_most(self._watched.resources_changed, min(1.0, max(0.02, soon - self._clock())))
        finally:
            self._pulse.rest()
            running = list(self._running.values())
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._running.clear()
            self._due.clear()

    def _start_due(self) -> None:
        now = self._clock()
        wanted: dict[tuple[str, str], tuple[float, Callable[[], Awaitable[None]]]] = {}
        if self._cluster is not None:
            part = self._cluster
            for cluster in self._watched.clusters:
                wanted["cluster", cluster.metadata.name] = (cluster.spec.run_period, _call(part.run, cluster))
            part.forget(self._watched.clusters.items)
        if self._applications is not None:
            application = self._applications
            for key, group in self._watched.app_groups.items.items():
                wanted["application", key] = (group.spec.run_period, _call(application.run, group))
            application.forget(self._watched.app_groups.items)
        for name in set(self._due) - set(wanted):
            del self._due[name]
        for name, (period, work) in wanted.items():
            if self._due.setdefault(name, now) <= now and name not in self._running:
                self._due[name] = now + max(SHORTEST_PERIOD, period)
                self._start(name, work)
        if self._clean_at <= now and ("clean", "") not in self._running:
            self._clean_at = now + CLEAN_SECONDS
            self._start(("clean", ""), self._clean)

    def _start(self, name: tuple[str, str], work: Callable[[], Awaitable[None]]) -> None:
        async def one() -> None:
            started = self._clock()
            try:
                await work()
            except Exception:
                # A fault in one cycle must not end the others; it is ours and is shown in full.
                log.exception("the cycle of %s %s failed", *name)
            finally:
                self._running.pop(name, None)
                self._metrics.cycles.labels(name[0]).observe(self._clock() - started)

        self._running[name] = asyncio.create_task(one())

    async def _clean(self) -> None:
        if self._cluster is not None:
            await self._cluster.clean()
        if self._applications is not None:
            await self._applications.clean()


def _call(work: Callable[[Any], Awaitable[None]], subject: Any) -> Callable[[], Awaitable[None]]:
    return lambda: work(subject)


def serve(connection: Connection, settings: MonitorSettings, *, listen: str | None) -> None:
    """Runs a monitor until SIGTERM or SIGINT."""
    lifecycle.serve(lambda: MonitorProgram(connection, settings, listen=listen))
