"""The mirror keeps its contract whatever happens to the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.kube.backoff import Backoff
from ecotone.kube.reading import reflector as module
from ecotone.kube.reading.reflector import Reflector
from ecotone.kube.reading.watching import EventDecoder, Meta
from ecotone.kube.resources import PODS
from kube.stub import Stub, event, hang, listing, refuse, serving, thing, watch


class Thing(msgspec.Struct):
    metadata: Meta
    colour: str = ""


class Log:
    """A sink that remembers the state and every call."""

    def __init__(self) -> None:
        self.state: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.lists = 0

    def upsert(self, item: Thing) -> None:
        self.state[item.metadata.name] = item.colour
        self.calls.append(("upsert", item.metadata.name))

    def remove(self, key: str, uid: str) -> None:
        del self.state[key.split("/")[-1]]
        self.calls.append(("remove", uid))

    def synced(self) -> None:
        self.lists += 1


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0.005)


Mirrored = tuple[Log, list[Any], Reflector[Thing]]


def mirror(script: Callable[..., None], check: Callable[[Log], bool], **options: Any) -> Mirrored:
    async def run() -> Mirrored:
        async with serving() as (stub, client):
            script(stub)
            sink = Log()
            quick = Backoff(first=0.001, limit=0.002)
            reflector = Reflector(client, PODS, Thing, sink, backoff=quick, **options)
            task = asyncio.create_task(reflector.run())
            try:
                await until(lambda: check(sink))
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            return sink, stub.requests, reflector

    return asyncio.run(run())


def test_lists_then_follows_changes_in_order() -> None:
    def script(stub: Stub) -> None:
        stub.then(
            listing(10, thing("a", 1, colour="red"), thing("b", 2)),
            watch(
                event("MODIFIED", thing("a", 11, colour="blue")),
                event("ADDED", thing("c", 12)),
                event("DELETED", thing("b", 13)),
            ),
        )

    sink, requests, reflector = mirror(script, lambda sink: ("remove", "uid-b") in sink.calls)
    assert sink.state == {"a": "blue", "c": ""}
    assert requests[1][2]["resourceVersion"] == "10"
    assert reflector.version == "13"


def test_resumes_after_a_cut_from_the_last_version_without_listing() -> None:
    def script(stub: Stub) -> None:
        stub.then(
            listing(10),
            watch(
                event("ADDED", thing("a", 11)),
                event("BOOKMARK", {"metadata": {"resourceVersion": "40"}}),
                then_hang=False,
            ),
            watch(event("ADDED", thing("b", 41))),
        )

    sink, requests, _ = mirror(script, lambda sink: "b" in sink.state)
    assert sink.lists == 1
    assert [query.get("resourceVersion") for _, _, query, _ in requests] == [None, "10", "40"]


def test_a_version_that_is_gone_leads_to_a_list_that_delivers_only_the_difference() -> None:
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}}

    def script(stub: Stub) -> None:
        stub.then(
            listing(10, thing("same", 1), thing("changed", 2), thing("vanished", 3), thing("reborn", 4, uid="old")),
            watch(gone),
            listing(90, thing("same", 1), thing("changed", 50), thing("reborn", 60, uid="new"), thing("fresh", 70)),
            watch(),
        )

    sink, _, _ = mirror(script, lambda sink: sink.lists == 2)
    assert sink.calls[4:] == [
        ("upsert", "changed"),
        ("remove", "old"),
        ("upsert", "reborn"),
        ("upsert", "fresh"),
        ("remove", "uid-vanished"),
    ]


def test_a_silent_stream_is_replaced() -> None:
    def script(stub: Stub) -> None:
        stub.then(listing(10), watch(), watch(event("ADDED", thing("a", 11))))

    _, requests, _ = mirror(script, lambda sink: "a" in sink.state, silence=0.05)
    assert len(requests) == 3


def test_refusals_and_overload_are_survived() -> None:
    def script(stub: Stub) -> None:
        stub.then(
            refuse(503),
            refuse(429, retry_after="0"),
            refuse(500),
            listing(10, thing("a", 1)),
            refuse(429, retry_after="0.01"),
            refuse(500),
            watch(event("ADDED", thing("b", 11))),
        )

    sink, _, _ = mirror(script, lambda sink: "b" in sink.state)
    assert sink.state == {"a": "", "b": ""}


def test_one_unreadable_object_does_not_hide_the_others() -> None:
    def script(stub: Stub) -> None:
        stub.then(
            listing(10, {"metadata": {"name": 7}}, thing("a", 1)),
            watch(event("ADDED", {"metadata": []}), event("ADDED", thing("b", 2)), then_hang=False),
            watch(),
        )

    sink, _, reflector = mirror(script, lambda sink: "b" in sink.state)
    assert set(sink.state) == {"a", "b"}
    assert reflector.dropped == 2


def test_an_object_that_became_unreadable_can_still_leave_and_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    odd = {**thing("a", 2), "colour": 7}

    def script(stub: Stub) -> None:
        stub.then(
            listing(10, thing("a", 1), thing("b", 1)),
            watch(*(event("MODIFIED", odd) for _ in range(3)), event("DELETED", odd)),
        )

    sink, _, reflector = mirror(script, lambda sink: "a" not in sink.state and "b" in sink.state)
    assert set(sink.state) == {"b"}
    assert reflector.dropped == 3
    assert len([record for record in caplog.records if "could not be read" in record.message]) == 1


def test_resync_waits_for_a_list_that_started_later() -> None:
    async def run() -> None:
        async with serving() as (stub, client):
            stub.then(listing(10, thing("a", 1)), watch(), listing(20, thing("a", 1), thing("b", 15)), watch())
            sink = Log()
            reflector = Reflector(client, PODS, Thing, sink, backoff=Backoff(first=0.001, limit=0.002))
            task = asyncio.create_task(reflector.run())
            await asyncio.wait_for(reflector.wait_synced(), 5)
            assert set(sink.state) == {"a"}
            await asyncio.wait_for(reflector.resync(), 5)
            assert set(sink.state) == {"a", "b"}
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 400), max_size=40), st.integers(1, 30))
def test_events_do_not_depend_on_how_the_bytes_are_cut(cuts: list[int], count: int) -> None:
    lines = b"".join(msgspec.json.encode(event("ADDED", thing(f"n{i}", i))) + b"\n" for i in range(count))
    dropped: list[Exception] = []
    decoder = EventDecoder(Thing, dropped=lambda _, error: dropped.append(error))
    names: list[str] = []
    position = 0
    for cut in [*cuts, len(lines)]:
        chunk = lines[position : position + cut]
        position += len(chunk)
        names += [one.meta.name for one in decoder.feed(chunk)]
    assert names == [f"n{i}" for i in range(count)]
    assert not dropped


def test_a_list_that_gets_no_answer_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE_SILENCE_SECONDS", 0.1)

    def script(stub: Stub) -> None:
        stub.then(hang(), listing(1, thing("a", 1, colour="red")), watch())

    sink, requests, _ = mirror(script, lambda log: log.lists == 1)
    assert sink.state == {"a": "red"}
    assert len(requests) >= 2
