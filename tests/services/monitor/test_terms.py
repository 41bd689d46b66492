"""A monitor's terms of leadership: however one ends, its cycles end with it, and the same replica can lead again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest

import virtual_time
from ecotone.services.monitor.program import MonitorProgram
from ecotone.services.monitor.settings import MonitorSettings
from ecotone.telemetry.prometheus import PrometheusSettings
from services.fake_api import FakeApi, serving
from services.terms import LEASE, PATIENCE, Replica, terms, until

LEASE_NAME = "ecotone-monitor"


def program(api: FakeApi, identity: str) -> MonitorProgram:
    # The server in memory stands for Prometheus too: it refuses to answer, or does not answer while it is held.
    settings = MonitorSettings(
        PrometheusSettings(api.address), identity, leader_elect=True, lease=LEASE, lease_name=LEASE_NAME
    )
    return MonitorProgram(api.connection(), settings, listen=None, clock=lambda: time.monotonic())


def resource(kind: str, name: str, **metadata: str) -> dict[str, object]:
    spec = {"runPeriod": 1, "name": name}
    return {"apiVersion": "ecotone.dev/v1alpha1", "kind": kind, "metadata": {"name": name, **metadata}, "spec": spec}


@contextlib.asynccontextmanager
async def monitored(api: FakeApi) -> AsyncIterator[None]:
    """Something to do in every term."""
    api.refused = lambda request: (503, {}) if request.path == "/api/v1/query" else None
    await api.put("clusters", resource("Cluster", "all"))
    await api.put("appgroups", resource("AppGroup", "shop", namespace="default"))
    yield


def test_every_term_ends_and_every_replica_leads_again() -> None:
    async def main() -> None:
        api = await terms(program, 9, first=0, lease_name=LEASE_NAME, busy=monitored)
        (cluster,) = api.all("clusters")
        assert cluster["status"]["conditions"], "no cycle was reported in all these terms"

    virtual_time.run(main())


@pytest.mark.slow
@pytest.mark.parametrize("first", range(3))
def test_many_terms_end(first: int) -> None:
    virtual_time.run(_many(first))


async def _many(first: int) -> None:
    await terms(program, 25, first=first, lease_name=LEASE_NAME, busy=monitored)


def test_servers_that_never_answer_do_not_keep_the_process() -> None:
    """Neither the API server nor Prometheus answers while cycles are under way."""

    async def main() -> float:
        async with serving() as api:
            one = Replica(api, "stuck", program).start()
            await until(lambda: one.leads, what="leader")
            api.held = lambda _: True
            async with monitored(api):
                await asyncio.sleep(1.5)
                seconds = await one.stop()
            api.held = lambda _: False
            return seconds

    assert virtual_time.run(main()) < PATIENCE
