"""``ecotone serve probe`` as a whole: targets, rounds, transfers, endpoints, and an orderly end.

A round sends every target a few probes, spread over the interval and never faster than the rate allows; answers are
awaited beside the sending, so a dead peer delays nobody. Rights: with ``--targets`` none; else list and watch pods in
the probe's own namespace.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from pathlib import Path

import aiohttp

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import connect
from ecotone.services import lifecycle
from ecotone.services.endpoints import Endpoints
from ecotone.services.health import Health
from ecotone.services.probe.choosing import chosen
from ecotone.services.probe.exchange import Served, fetch_place, measure_bandwidth
from ecotone.services.probe.metrics import ProbeMetrics
from ecotone.services.probe.pinging import BestPinger, Pinger, Target
from ecotone.services.probe.settings import ProbeSettings
from ecotone.services.probe.targets import FileTargets, PodTargets, Targets
from ecotone.services.running import background, first
from ecotone.telemetry.vivaldi import Coordinates

log = logging.getLogger(__name__)


class ProbeProgram:
    def __init__(self, settings: ProbeSettings, *, kubeconfig: str | Path | None, context: str | None) -> None:
        self._settings = settings
        self._kubeconfig = kubeconfig
        self._context = context
        self._stopping = asyncio.Event()
        self._rounds = 0
        self._health = Health()
        self._turning = self._health.expect("rounds", within=max(60.0, 10 * settings.interval))
        self._random = random.Random(settings.node)
        self.metrics = ProbeMetrics(settings.node)
        self.coordinates = Coordinates(settings.node)

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        """Serves until ``stop`` is called."""
        settings = self._settings
        async with contextlib.AsyncExitStack() as stack:
            targets = await self._targets(stack)
            pinger = BestPinger(icmp=settings.icmp)
            stack.callback(pinger.close)
            log.info("probing by %s", pinger.how)
            session = await stack.enter_async_context(
                aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=32, force_close=True))
            )
            endpoints = Endpoints(self.metrics.registry, ready=self._why_not_ready, health=self._health)
            served = Served(self.coordinates)
            endpoints.get("/coordinates", served.coordinates)
            endpoints.get("/bandwidth", served.bandwidth)
            await endpoints.start(settings.listen)
            stack.push_async_callback(endpoints.stop)
            works = [targets.run(), self._probe(targets, pinger, session)]
            if settings.bandwidth_interval > 0:
                works.append(self._transfer(targets, session))
            await stack.enter_async_context(background(*works))
            await first(self._stopping.wait())

    async def _targets(self, stack: contextlib.AsyncExitStack) -> Targets:
        settings = self._settings
        if settings.targets is not None:
            return FileTargets(settings.targets, port=settings.peer_port)
        kubeconfig = None if self._kubeconfig is None else str(self._kubeconfig)
        client = ApiClient(
            connect(kubeconfig=kubeconfig, context=self._context), user_agent="ecotone-probe", connections=2
        )
        await stack.enter_async_context(client)
        return PodTargets(client, namespace=settings.namespace, selector=settings.selector, port=settings.peer_port)

    def _why_not_ready(self) -> str | None:
        return None if self._rounds else "no round has been sent yet"

    async def _probe(self, targets: Targets, pinger: Pinger, session: aiohttp.ClientSession) -> None:
        known: set[str] = set()
        async with asyncio.TaskGroup() as pings:
            while True:
                others = targets.now()
                wanted = self._chosen(others)
                self.metrics.targets(len(wanted))
                for gone in known - set(wanted):
                    self.metrics.forget(gone)
                    self.coordinates.forget(gone)
                known = set(wanted)
                sampling = len(others) + (self._settings.node not in others) > self._settings.most
                await self._round([others[name] for name in wanted], pinger, session, pings, sampling=sampling)
                self._rounds += 1
                self._turning.beat()
                if sampling:
                    self._show_place()

    def _chosen(self, others: dict[str, Target]) -> list[str]:
        settings = self._settings
        return chosen(settings.node, others, most=settings.most, sample=settings.sample)

    async def _round(
        self,
        wanted: list[Target],
        pinger: Pinger,
        session: aiohttp.ClientSession,
        pings: asyncio.TaskGroup,
        *,
        sampling: bool,
    ) -> None:
        settings = self._settings
        probes = wanted * settings.count
        # Not in step with the other nodes' rounds, nor with anything else that is periodic.
        self._random.shuffle(probes)
        gap = max(settings.interval / max(1, len(probes)), 1 / settings.rate)
        for target in probes:
            pings.create_task(self._one(target, pinger))
            await asyncio.sleep(self._random.uniform(0.5, 1.5) * gap)
        if sampling:
            pings.create_task(self._learn(wanted, session, pinger))
        if not probes:
            await asyncio.sleep(settings.interval)

    async def _one(self, target: Target, pinger: Pinger) -> float | None:
        self.metrics.sent(target.node)
        seconds = await pinger.ping(target, timeout=self._settings.timeout)
        if seconds is None:
            self.metrics.lost(target.node)
        else:
            self.metrics.answered(target.node, seconds)
        return seconds

    async def _learn(self, wanted: list[Target], session: aiohttp.ClientSession, pinger: Pinger) -> None:
        """One observation of one peer a round: where it says it is, and how far that was just now."""
        if not wanted:
            return
        target = wanted[self._rounds % len(wanted)]
        place = await fetch_place(session, target, timeout=self._settings.timeout)
        seconds = None if place is None else await self._one(target, pinger)
        if place is not None and seconds is not None:
            self.coordinates.observe(target.node, place, 1000.0 * seconds)

    def _show_place(self) -> None:
        place = self.coordinates.place
        axes = {str(number): value for number, value in enumerate(place.vector)}
        self.metrics.coordinate({**axes, "height": place.height, "error": place.error})

    async def _transfer(self, targets: Targets, session: aiohttp.ClientSession) -> None:
        turn = 0
        while True:
            await asyncio.sleep(self._settings.bandwidth_interval * self._random.uniform(0.5, 1.5))
            others = targets.now()
            wanted = self._chosen(others)
            if not wanted:
                continue
            target = others[wanted[turn % len(wanted)]]
            turn += 1
            reached = await measure_bandwidth(session, target, size=self._settings.bandwidth_bytes)
            if reached is None:
                self.metrics.bandwidth_failed(target.node)
            else:
                self.metrics.bandwidth(target.node, reached)


def serve(settings: ProbeSettings, *, kubeconfig: str | Path | None, context: str | None) -> None:
    """Runs a probe until SIGTERM or SIGINT."""
    lifecycle.serve(lambda: ProbeProgram(settings, kubeconfig=kubeconfig, context=context))
