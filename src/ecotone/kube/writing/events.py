"""Events: what a person sees in ``kubectl describe``, written without getting in the way of the work itself.

Events are told to the API server in the background and after everything that matters: a queue, a few writers, and a
gate that the scheduler closes while it has bindings under way. The gate keeps none for longer than a few seconds, and an
event is put together when it is written, so that until then it costs next to nothing. Repetitions of the same message
about the same object are counted on the one event that exists (its ``series``) instead of making new ones, and an object
that produces different messages without end is limited by a token bucket, as client-go does. What is dropped is counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from ecotone.kube.client import MERGE_PATCH, ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import EVENTS

log = logging.getLogger(__name__)

QUEUE_LIMIT = 200_000
WRITERS = 8
HELD_SECONDS = 5.0
"""The longest that an event waits for more important requests."""
SERIES_SECONDS = 360.0
"""Repetitions closer than this belong to one series."""
SERIES_WRITE_SECONDS = 30.0
REMEMBERED = 4_096
BURST = 25.0
REFILL_PER_SECOND = 1.0 / 300.0
NOTE_LIMIT = 1_024


class Regarding(msgspec.Struct, frozen=True):
    kind: str
    namespace: str
    name: str
    uid: str
    api_version: str = "v1"

    def reference(self) -> dict[str, str]:
        return {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "uid": self.uid,
            "apiVersion": self.api_version,
        }


class _Series(msgspec.Struct):
    name: str
    namespace: str
    count: int = 1
    last: float = 0.0
    written: float = 0.0


class _Bucket(msgspec.Struct):
    tokens: float = BURST
    at: float = msgspec.field(default=0.0)


class _Letter(msgspec.Struct):
    """A request that waits to be written, and since when; `body` makes what it says."""

    since: float
    method: str
    path: str
    body: Callable[[], dict[str, Any]]


class EventRecorder:
    def __init__(
        self,
        client: ApiClient,
        *,
        controller: str,
        instance: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._controller = controller
        self._instance = instance
        self._clock = clock
        self._queue: deque[_Letter] = deque()
        self._wakeup = asyncio.Event()
        self._open = asyncio.Event()
        self._open.set()
        self._series: OrderedDict[tuple[str, ...], _Series] = OrderedDict()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        self._busy = 0
        self.written = 0
        self.dropped = 0

    def hold(self) -> None:
        """More important requests are under way: nothing is sent until ``resume``."""
        self._open.clear()

    def resume(self) -> None:
        self._open.set()

    @property
    def waiting(self) -> int:
        return len(self._queue) + self._busy

    def once(self, regarding: Regarding, *, reason: str, action: str, note: str) -> None:
        """A Normal event that by its nature happens once per object (a pod is bound once): no series is kept."""
        happened = time.time()
        self._enqueue(
            "POST",
            EVENTS.path(namespace=regarding.namespace or "default"),
            lambda: self._event(regarding, reason=reason, action=action, note=note, type_="Normal", happened=happened),
        )

    def event(
        self,
        regarding: Regarding,
        *,
        reason: str,
        action: str,
        note: str,
        warning: bool = False,
        related: Regarding | None = None,
    ) -> None:
        now = self._clock()
        key = (regarding.uid or regarding.name, reason, action, note)
        series = self._series.get(key)
        if series is not None and now - series.last <= SERIES_SECONDS:
            series.count += 1
            series.last = now
            self._series.move_to_end(key)
            if now - series.written >= SERIES_WRITE_SECONDS or series.count == 2:
                series.written = now
                counted = _count(series)
                self._enqueue("PATCH", EVENTS.path(namespace=series.namespace, name=series.name), lambda: counted)
            return
        if not self._allowed(regarding.uid or regarding.name, now):
            self.dropped += 1
            return
        type_ = "Warning" if warning else "Normal"
        event = self._event(regarding, reason=reason, action=action, note=note, type_=type_, happened=time.time())
        if related is not None:
            event["related"] = related.reference()
        metadata = event["metadata"]
        self._series[key] = _Series(metadata["name"], metadata["namespace"], last=now, written=now)
        while len(self._series) > REMEMBERED:
            self._series.popitem(last=False)
        self._enqueue("POST", EVENTS.path(namespace=metadata["namespace"]), lambda: event)

    def _allowed(self, subject: str, now: float) -> bool:
        bucket = self._buckets.setdefault(subject, _Bucket(at=now))
        bucket.tokens = min(BURST, bucket.tokens + (now - bucket.at) * REFILL_PER_SECOND)
        bucket.at = now
        self._buckets.move_to_end(subject)
        while len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True

    def _event(
        self, regarding: Regarding, *, reason: str, action: str, note: str, type_: str, happened: float
    ) -> dict[str, Any]:
        if len(note) > NOTE_LIMIT:
            note = note[: NOTE_LIMIT - 4] + " ..."
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {
                "name": f"{regarding.name[:220].rstrip('.-')}.{uuid.uuid4().hex[:16]}",
                "namespace": regarding.namespace or "default",
            },
            "eventTime": _moment(happened),
            "reportingController": self._controller,
            "reportingInstance": self._instance[:128],
            "action": action,
            "reason": reason,
            "regarding": regarding.reference(),
            "note": note,
            "type": type_,
        }

    def _enqueue(self, method: str, path: str, body: Callable[[], dict[str, Any]]) -> None:
        if len(self._queue) >= QUEUE_LIMIT:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(_Letter(self._clock(), method, path, body))
        self._wakeup.set()

    async def run(self) -> None:
        """Writes events until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WRITERS):
                group.create_task(self._write_loop())

    async def _write_loop(self) -> None:
        while True:
            if not self._queue:
                self._wakeup.clear()
                await self._wakeup.wait()
                continue
            if not self._open.is_set():
                due = self._queue[0].since + HELD_SECONDS - self._clock()
                if due > 0:
                    await self._opened_within(due)
                    continue
            self._busy += 1
            try:
                await self._write(self._queue.popleft())
            finally:
                self._busy -= 1

    async def _opened_within(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._open.wait()

    async def _write(self, letter: _Letter) -> None:
        method, path = letter.method, letter.path
        content_type = MERGE_PATCH if method == "PATCH" else "application/json"
        body = msgspec.json.encode(letter.body())
        try:
            await self._client.request(method, path, body=body, content_type=content_type, timeout=10)
            self.written += 1
        except ApiError as error:
            # 404: the namespace or the series' event is gone. 409: this very event was already written.
            self.dropped += not (error.conflict or error.not_found)
            log.debug("event not written: %s", error)
        except UnreachableError as error:
            self.dropped += 1
            log.debug("event not written: %s", error)

    async def drain(self, timeout: float) -> bool:
        """Waits until everything told so far is written; False when the time is up first."""
        self.resume()
        end = self._clock() + timeout
        while self.waiting and self._clock() < end:
            await asyncio.sleep(0.02)
        return not self.waiting


def _count(series: _Series) -> dict[str, Any]:
    return {"series": {"count": series.count, "lastObservedTime": _moment(time.time())}}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
