"""``ecotone serve descheduler`` as a whole: mirrors, leadership, endpoints, the loop, an orderly end."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections.abc import Callable

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.lease import Elector, LeaseWatch
from ecotone.kube.reading.reflector import Reflector
from ecotone.kube.resources import APP_GROUPS
from ecotone.kube.writing.events import EventRecorder, Regarding
from ecotone.model.state import ClusterState
from ecotone.services import lifecycle
from ecotone.services.descheduler.descheduler import Descheduler
from ecotone.services.descheduler.groups import Groups, LiveAppGroup
from ecotone.services.descheduler.metrics import DeschedulerMetrics
from ecotone.services.descheduler.moves import Move
from ecotone.services.descheduler.objective import percentile_ms
from ecotone.services.descheduler.residents import Residents
from ecotone.services.descheduler.settings import DeschedulerProgramSettings
from ecotone.services.descheduler.surge import Surges
from ecotone.services.descheduler.writer import MANAGER, MoveWriter
from ecotone.services.endpoints import Endpoints
from ecotone.services.feeds import Feeds
from ecotone.services.health import Health
from ecotone.services.http.descriptors import called, raise_limit
from ecotone.services.leadership import lead
from ecotone.services.live_cache import LiveCache
from ecotone.services.running import background, collect_while_idle, first, spare_the_cache_from_collection
from ecotone.telemetry.prometheus import Prometheus, Source
from ecotone.telemetry.sources.reader import Reader

log = logging.getLogger(__name__)

TICK_SECONDS = 1.0
ROUND_SECONDS = 120.0
"""A round over a large cluster may take this long before the program counts as stuck."""
EVENT_SECONDS = 0.5


class DeschedulerProgram:
    def __init__(
        self,
        connection: Connection,
        settings: DeschedulerProgramSettings,
        *,
        listen: str | None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._listen = listen
        self._clock = clock
        self._wall = wall
        self._stopping = asyncio.Event()
        self._synced = False
        self._health = Health(clock=clock)
        self._election = self._health.expect("leader election", within=settings.lease.duration)
        self._loop = self._health.expect("descheduling", within=ROUND_SECONDS)
        self._prometheus: Source | None = None
        self._reader: Reader | None = None
        self._residents: Residents | None = None
        self._measured_at: dict[str, float] = {}
        self.metrics = DeschedulerMetrics()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        if self._settings.prometheus is None:
            await self._run()
            return
        async with Prometheus(self._settings.prometheus) as self._prometheus:
            await self._run()

    async def _run(self) -> None:
        settings = self._settings
        agent = f"ecotone-descheduler/{settings.identity}"
        connections = called(raise_limit(), wanted=48)
        async with (
            ApiClient(
                self._connection, user_agent=agent, connections=connections, timeout=settings.request_timeout
            ) as client,
            ApiClient(self._connection, user_agent=f"{agent} leader-election", connections=2) as lease_client,
        ):
            recorder = EventRecorder(client, controller=MANAGER, instance=settings.identity, clock=self._clock)
            cache = LiveCache(ClusterState(now=self._wall(), max_age=settings.max_age))
            feeds = Feeds(client, cache, silence=settings.silence, trust_annotations=settings.trust_annotations)
            groups = Groups(frozenset({settings.profile.scheduler_name}))
            mirror = Reflector(client, APP_GROUPS, LiveAppGroup, groups, silence=settings.silence, optional=True)
            watch = LeaseWatch(lease_client, namespace=settings.lease_namespace, name=settings.scheduler_lease)
            surges = Surges(client, dry_run=settings.dry_run)
            if self._prometheus is not None:
                self._residents = Residents(client, cache)
                self._reader = Reader(self._prometheus, self._residents, settings.trust, clock=self._wall)
            descheduler = Descheduler(
                settings,
                cache=cache,
                groups=groups,
                writer=MoveWriter(client, identity=settings.identity, dry_run=settings.dry_run),
                surges=surges,
                unbelieved=lambda: feeds.belief.why_not,
                alive=(lambda: None) if not settings.scheduler_lease else watch.complaint,
                moved=lambda move: _tell(recorder, move),
                told=_print if settings.dry_run else log.info,
                turned=self._loop.beat,
                metrics=self.metrics,
                wall=self._wall,
            )
            endpoints = Endpoints(
                self.metrics.registry,
                ready=lambda: None if self._synced else "the caches are not filled yet",
                health=self._health,
                allowed_hosts=settings.allowed_hosts,
                names_for=settings.metrics_token,
            )
            if self._listen is not None:
                await endpoints.start(self._listen)
            try:
                async with background(feeds.run(), mirror.run(), recorder.run()):
                    await first(self._stopping.wait(), _synced(feeds, mirror))
                    spare_the_cache_from_collection()
                    self._synced = True
                    await lead(
                        self._elector(lease_client),
                        lambda: self._work(descheduler, cache, groups, surges, watch),
                        stopping=self._stopping,
                    )
                    await recorder.drain(EVENT_SECONDS)
            finally:
                await endpoints.stop()

    def _elector(self, client: ApiClient) -> Elector | None:
        settings = self._settings
        if not settings.leader_elect:
            return None
        return Elector(
            client,
            namespace=settings.lease_namespace,
            name=settings.lease_name,
            identity=settings.identity,
            times=settings.lease,
            clock=self._clock,
            turned=self._election.beat,
        )

    async def _work(
        self, descheduler: Descheduler, cache: LiveCache, groups: Groups, surges: Surges, watch: LeaseWatch
    ) -> None:
        """One term."""
        self.metrics.leader.set(1)
        surges.look_again()
        try:
            while True:
                self._loop.beat()
                await watch.look()
                await surges.find({group.metadata.namespace for _, group in groups.all()})
                await surges.advance(cache.view(self._wall()))
                await self._measure(groups, cache)
                await descheduler.tick()
                collect_while_idle()
                await asyncio.sleep(TICK_SECONDS)
        finally:
            self._loop.rest()
            self.metrics.leader.set(0)

    async def _measure(self, groups: Groups, cache: LiveCache) -> None:
        """What the users of applications with an objective see now."""
        if self._reader is None or self._residents is None:
            return
        for gone in self._measured_at.keys() - groups.keys():
            del self._measured_at[gone]
        now = self._wall()
        due = [
            (key, group)
            for key, group in groups.all()
            if group.spec.slo is not None and self._measured_at.get(key, 0.0) + group.spec.run_period <= now
        ]
        if not due:
            return
        trust = self._settings.trust
        if not trust.everything:
            everyone = {group.metadata.namespace for _, group in groups.all() if group.spec.slo is not None}
            await self._residents.look(everyone | {each.namespace for each in trust.reporters})
        at = await self._reader.moment()
        for key, group in due:
            self._measured_at[key] = now
            groups.measured(key, await percentile_ms(self._reader, group, cache.view(self._wall()), at=at))
            # Each question has a deadline of its own; many of them are slow, not stuck.
            self._loop.beat()


async def _synced(feeds: Feeds, mirror: Reflector[LiveAppGroup]) -> None:
    await feeds.wait_synced()
    await mirror.wait_synced()


def _tell(recorder: EventRecorder, move: Move) -> None:
    workload = move.workload
    about = Regarding(workload.kind, workload.namespace, workload.name, "", api_version="apps/v1")
    note = f"Moved {move.pod} from {move.origin} to {move.target}, predicted gain {move.gain:.4g} {move.unit}"
    recorder.event(about, reason="Moved", action="Descheduling", note=note)


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def serve(connection: Connection, settings: DeschedulerProgramSettings, *, listen: str | None) -> None:
    """Runs until SIGTERM or SIGINT."""
    lifecycle.serve(lambda: DeschedulerProgram(connection, settings, listen=listen))
