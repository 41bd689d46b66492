"""The live descheduler with our scheduler, on an API server in memory."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ecotone.services.descheduler.program import DeschedulerProgram
from services.descheduler.world import World, running, until
from services.fake_api import serving

# The day after tomorrow: never while a test runs.
NOT_TODAY = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[(time.gmtime().tm_wday + 2) % 7]


def test_pods_are_moved_to_their_peer_and_land_where_it_was_promised() -> None:
    async def main() -> World:
        async with serving() as api:
            world = World(api)
            await world.build(descheduler={"coolDownSeconds": 0})
            async with running(world):
                await until(lambda: world.where("front") == ["near", "near"], what="both pods near their peer")
                await until(lambda: len(world.moves("Done")) == 2, what="both moves judged")
                await until(lambda: not api.all("reservations"), what="no reservation left")
            return world

    world = asyncio.run(main())
    for move in world.moves("Done"):
        assert (move["from"], move["to"], move["landed"]) == ("far", "near", "near")
        assert move["predictedGain"] > 0
        assert move["measuredGain"] > 0
    assert world.reason() == "Active"
    assert len(world.api.evictions) == 2


@pytest.mark.lasting
def test_the_only_pod_goes_after_its_replacement_is_ready() -> None:
    async def main() -> tuple[World, int]:
        fewest = 99
        async with serving() as api:
            world = World(api)
            await world.build(front=1, descheduler={"coolDownSeconds": 0})
            async with running(world):
                while not world.moves("Done"):
                    fewest = min(fewest, world.ready("front"))
                    await asyncio.sleep(0.005)
                await until(lambda: not api.all("reservations"), what="no reservation left")
            return world, fewest

    world, fewest = asyncio.run(asyncio.wait_for(main(), 60))
    assert fewest >= 1
    assert world.where("front") == ["near"]
    assert world.api.evictions == []
    front = world.api.find("deployments", "front", "default")
    assert front is not None
    assert front["spec"]["replicas"] == 1
    assert "ecotone.dev/surge" not in front["metadata"]["annotations"]


@pytest.mark.lasting
def test_a_surge_that_was_interrupted_is_completed_by_the_next_leader() -> None:
    async def main() -> World:
        async with serving() as api:
            world = World(api)
            await world.build(front=1, descheduler={"coolDownSeconds": 0})
            world.becomes_ready = False
            async with running(world):
                await until(lambda: len(world.pods("front")) == 2, what="one replica more")
            world.becomes_ready = True
            async with running(world):
                await until(lambda: world.where("front") == ["near"], what="the replacement alone")
                await until(lambda: not api.all("reservations"), what="no reservation left")
                await until(
                    lambda: "ecotone.dev/surge" not in api.all("deployments")[1]["metadata"]["annotations"],
                    what="no record left",
                )
            return world

    world = asyncio.run(main())
    front = world.api.find("deployments", "front", "default")
    assert front is not None
    assert front["spec"]["replicas"] == 1


def holds_still(world: World) -> bool:
    return world.where("front") == ["far", "far"] and not world.api.evictions and not world.api.all("reservations")


async def rounds(descheduler: DeschedulerProgram, count: int) -> None:
    """So many rounds of one application from now on."""
    start = descheduler.metrics.rounds.labels("ok")._value.get()
    await until(
        lambda: descheduler.metrics.rounds.labels("ok")._value.get() >= start + count,
        what=f"{count} rounds",
        seconds=40,
    )


@pytest.mark.parametrize(
    ("group", "options", "reason"),
    [
        ({"paused": True}, {}, "Paused"),
        ({"descheduler": {"windows": [NOT_TODAY]}}, {}, "OutsideWindows"),
        ({"slo": {"milliseconds": 100}}, {}, "SLOUnknown"),
        ({}, {"excluded_namespaces": frozenset({"default"})}, "Excluded"),
        ({}, {"scheduler": False}, "SchedulerUnavailable"),
    ],
)
def test_it_says_why_nothing_moves(group: dict[str, Any], options: dict[str, Any], reason: str) -> None:
    async def main() -> tuple[bool, str]:
        async with serving() as api:
            world = World(api)
            await world.build(**group)
            async with running(world, **options) as descheduler:
                await rounds(descheduler, 3)
                await until(lambda: world.reason() == reason, what=f"reason {reason}, not {world.reason()}")
                return holds_still(world), world.reason()

    assert asyncio.run(main()) == (True, reason)


def test_a_dry_run_prints_what_a_real_run_does_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> tuple[list[str], bool, list[str]]:
        async with serving() as api:
            world = World(api)
            await world.build(descheduler={"coolDownSeconds": 0})
            async with running(world, dry_run=True) as descheduler:
                await rounds(descheduler, 2)
                still = holds_still(world)
            before = {one["metadata"]["name"] for one in world.pods("front")}
            async with running(world):
                await until(lambda: bool(api.evictions), what="the first move")
            return sorted(before), still, api.evictions

    before, still, evicted = asyncio.run(main())
    printed = capsys.readouterr().out.splitlines()
    assert still
    first = next(line for line in printed if line.startswith("would move"))
    assert f"default/{evicted[0]} " in first or any(name in first for name in before)
    assert "from far to near" in first


def test_measurements_that_are_too_old_stop_moves_but_not_scheduling() -> None:
    async def main() -> tuple[bool, str]:
        async with serving() as api:
            world = World(api)
            await world.build()
            for each in api.all("deployments"):
                each["metadata"]["annotations"]["ecotone.dev/measured-at"] = "2020-01-01T00:00:00Z"
                await api.put("deployments", each)
            async with running(world) as descheduler:
                await rounds(descheduler, 2)
                await until(lambda: world.reason() == "MeasurementsStale", what="stale measurements told")
                still = holds_still(world)
                await world.add_pod("front")
                front = api.find("deployments", "front", "default")
                assert front is not None
                front["spec"]["replicas"] = 3
                await api.put("deployments", front)
                await until(lambda: all(world.where("front")), what="the new pod placed")
                return still, world.reason("MeasurementsFresh")

    assert asyncio.run(main()) == (True, "Stale")


@pytest.mark.lasting
def test_after_the_moves_nothing_moves_any_more() -> None:
    async def main() -> int:
        async with serving() as api:
            world = World(api)
            await world.build(descheduler={"coolDownSeconds": 0})
            async with running(world) as descheduler:
                await until(lambda: len(world.moves("Done")) == 2, what="both moves judged")
                made = len(api.evictions)
                await rounds(descheduler, 10)
                return len(api.evictions) - made

    assert asyncio.run(main()) == 0
