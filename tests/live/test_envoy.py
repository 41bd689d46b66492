"""Real Envoy sidecars between three services: what the `envoy` dialect counts is what was sent."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from control_plane.processes import wait_until
from ecotone.telemetry.dialects.base import Rates
from ecotone.telemetry.dialects.envoy import Envoy
from ecotone.telemetry.prometheus import Failure, Prometheus, PrometheusSettings
from ecotone.telemetry.refs import Place, Ref
from ecotone.telemetry.sources.reader import Reader
from ecotone.telemetry.sources.speakers import Trust
from live.prometheus_server import PrometheusServer
from live.services import Background, Service
from live.sidecar import Sidecar
from telemetry.directory import Town

CALLS = {"web": ["api"], "api": ["db"], "db": []}
PER_SECOND = 20.0
FACTOR = 2
"""Calls of web to api for each request that it gets."""
WINDOW = 20.0


class Shop:
    """The three workloads, one pod each."""

    def pod(self, namespace: str, name: str) -> Place | None:
        workload = name.removesuffix("-0")
        return Place(Ref(namespace, workload), "n") if namespace == "shop" and workload in CALLS else None

    def exists(self, workload: Ref) -> bool:
        return workload.namespace == "shop" and workload.name in CALLS

    def lets_users_in(self, workload: Ref) -> bool:
        return False

    def input_proxies(self) -> Sequence[Ref]:
        return []


async def calling(session: aiohttp.ClientSession, port: int, times: int) -> None:
    for _ in range(times):
        async with session.get(f"http://127.0.0.1:{port}/") as answer:
            assert answer.status == 200
            await answer.read()


async def load(port: int, sent: list[float]) -> None:
    """Requests at a steady pace, for ever; a late one is sent at once and the pace kept."""
    async with aiohttp.ClientSession() as session:
        started = time.monotonic()
        pending: set[asyncio.Task[None]] = set()
        try:
            while True:
                due = started + len(sent) / PER_SECOND
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                sent.append(time.time())
                task = asyncio.create_task(calling(session, port, 1))
                pending.add(task)
                task.add_done_callback(pending.discard)
        finally:
            await asyncio.gather(*pending)


def test_requests_and_bytes_per_pair_are_what_was_sent(tmp_path: Path) -> None:
    sidecars = {name: Sidecar(name, calls) for name, calls in CALLS.items()}
    services = {
        "web": Service(lambda session: calling(session, sidecars["web"].outbound["api"], FACTOR)),
        "api": Service(lambda session: calling(session, sidecars["api"].outbound["db"], 1)),
        "db": Service(),
    }
    background = Background()
    prometheus: PrometheusServer | None = None
    try:
        for service in services.values():
            background.run(service.start())
        inbound = {name: sidecar.inbound for name, sidecar in sidecars.items()}
        for name, sidecar in sidecars.items():
            sidecar.start(tmp_path, own_port=services[name].port, inbound=inbound)
            wait_until(partial(admin_ready, sidecar.admin), timeout=30, what=f"Envoy of {name}", child=sidecar.child)
        prometheus = PrometheusServer(
            tmp_path / "prometheus",
            {
                f"envoy-{name}": [
                    {"targets": [f"127.0.0.1:{sidecar.admin}"], "labels": {"namespace": "shop", "pod": f"{name}-0"}}
                ]
                for name, sidecar in sidecars.items()
            },
            path="/stats/prometheus",
        )
        sent: list[float] = []
        loading = background.start(load(sidecars["web"].inbound, sent))
        seen: list[tuple[float, int, int, int, int]] = []

        def long_enough() -> bool:
            api, db = services["api"].seen, services["db"].seen
            seen.append((time.time(), api.requests, api.bytes, db.requests, db.bytes))
            return len(sent) >= (WINDOW + 8) * PER_SECOND

        wait_until(long_enough, timeout=120, what="load", every=0.1)
        at = time.time()
        rates = asyncio.run(measured(prometheus.url, at))
        loading.cancel()
        # What is under way comes to its end before the sidecars do.
        wait_until(lambda: services["web"].seen.requests >= len(sent), timeout=10, what="the last answers")
    finally:
        if prometheus is not None:
            prometheus.stop()
        for sidecar in sidecars.values():
            sidecar.stop()
        for service in services.values():
            background.run(service.stop())
        background.stop()
    generated = sum(at - WINDOW <= moment < at for moment in sent) / WINDOW
    first = min(seen, key=lambda each: abs(each[0] - (at - WINDOW)))
    last = seen[-1]
    span = last[0] - first[0]
    assert rates.requests is not None and rates.bytes is not None
    pairs = {(source.name, target.name): figure.value for (source, target), figure in rates.requests.items()}
    assert pairs == pytest.approx({("web", "api"): FACTOR * generated, ("api", "db"): FACTOR * generated}, rel=0.02)
    volume = {(source.name, target.name): figure.value for (source, target), figure in rates.bytes.items()}
    sockets = {("web", "api"): (last[2] - first[2]) / span, ("api", "db"): (last[4] - first[4]) / span}
    assert volume == pytest.approx(sockets, rel=0.05)


async def measured(url: str, at: float) -> Rates:
    dialect, shop = Envoy(), Shop()
    async with Prometheus(PrometheusSettings(url)) as prometheus:
        reader = Reader(prometheus, Town(), Trust(everything=True), place=shop.pod)
        answered = {}
        for name, family in dialect.families("shop", shop).items():
            found = await reader.read(family, window=WINDOW, at=at)
            assert not isinstance(found, Failure), found
            answered[name] = found.values
    return dialect.rates(answered, shop)


def admin_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ready", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
