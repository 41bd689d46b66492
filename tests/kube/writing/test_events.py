"""Events are aggregated, limited, and never in the way."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from ecotone.kube.writing.events import BURST, HELD_SECONDS, EventRecorder, Regarding
from kube.stub import reply, serving

POD = Regarding("Pod", "default", "web-1", "uid-1")


def test_repetitions_become_one_series() -> None:
    async def run() -> None:
        async with serving() as (stub, client):
            stub.otherwise = reply(status=201)
            clock = [0.0]
            recorder = EventRecorder(client, controller="ecotone", instance="me", clock=lambda: clock[0])
            task = asyncio.create_task(recorder.run())
            for second in range(0, 100, 10):
                clock[0] = float(second)
                recorder.event(POD, reason="FailedScheduling", action="Scheduling", note="0/3 nodes", warning=True)
            clock[0] = 0.0
            while recorder.waiting:
                await asyncio.sleep(0.005)
            task.cancel()
            methods = [method for method, _, _, _ in stub.requests]
            assert methods.count("POST") == 1
            counts = [body["series"]["count"] for method, _, _, body in stub.requests if method == "PATCH"]
            assert counts[0] == 2
            assert counts == sorted(counts)
            assert len(counts) < 9

    asyncio.run(run())


def test_one_object_cannot_flood() -> None:
    async def run() -> None:
        async with serving() as (_, client):
            recorder = EventRecorder(client, controller="ecotone", instance="me", clock=lambda: 0.0)
            for number in range(100):
                recorder.event(POD, reason="FailedScheduling", action="Scheduling", note=f"try {number}")
            assert recorder.waiting == BURST
            assert recorder.dropped == 100 - BURST

    asyncio.run(run())


def test_held_events_wait_and_are_delivered_later() -> None:
    async def run() -> None:
        async with serving() as (stub, client):
            stub.otherwise = reply(status=201)
            recorder = EventRecorder(client, controller="ecotone", instance="me")
            task = asyncio.create_task(recorder.run())
            recorder.hold()
            recorder.once(POD, reason="Scheduled", action="Binding", note="assigned")
            await asyncio.sleep(0.02)
            assert stub.requests == []
            assert await recorder.drain(5)
            task.cancel()
            assert stub.requests[0][3]["note"] == "assigned"

    asyncio.run(run())


def test_no_event_is_held_for_longer_than_a_few_seconds() -> None:
    now = 100.0

    async def run() -> None:
        nonlocal now
        async with serving() as (stub, client):
            stub.otherwise = reply(status=201)
            recorder = EventRecorder(client, controller="ecotone", instance="me", clock=lambda: now)
            recorder.hold()
            recorder.once(POD, reason="Scheduled", action="Binding", note="long ago")
            now += HELD_SECONDS
            recorder.once(POD, reason="Scheduled", action="Binding", note="just now")
            task = asyncio.create_task(recorder.run())
            async with asyncio.timeout(5):
                while recorder.written < 1:
                    await asyncio.sleep(0)
            assert [request[3]["note"] for request in stub.requests] == ["long ago"]
            assert recorder.waiting == 1
            assert await recorder.drain(5)
            task.cancel()
            assert stub.requests[1][3]["note"] == "just now"

    asyncio.run(run())


def test_an_event_tells_when_it_happened_not_when_it_was_written() -> None:
    async def run() -> None:
        async with serving() as (stub, client):
            stub.otherwise = reply(status=201)
            recorder = EventRecorder(client, controller="ecotone", instance="me")
            before = datetime.now(UTC)
            recorder.once(POD, reason="Scheduled", action="Binding", note="assigned")
            after = datetime.now(UTC)
            task = asyncio.create_task(recorder.run())
            assert await recorder.drain(5)
            task.cancel()
            told = datetime.fromisoformat(stub.requests[0][3]["eventTime"])
            assert before - timedelta(milliseconds=1) <= told <= after

    asyncio.run(run())
