"""A local mirror of one kind of object: list once, then watch for ever.

The contract is client-go's Reflector, restated: the sink sees every object of a consistent list, then every change in
order; after any loss of the stream the watch resumes at the last version seen; when the server no longer has that
version (410) the mirror lists again and tells the sink only the *difference*. Bookmarks move the version forward on
quiet kinds, so a resumption rarely needs a list. A stream can also die without saying so (a lost NAT entry, a stalled
proxy): the server sends a bookmark about every minute, so longer silence means the stream is dead, and it is replaced.

The mirror remembers only identity and version per object; the objects themselves belong to the sink.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import Generic, Protocol, TypeVar

import msgspec

from ecotone.kube.backoff import Backoff
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.http.connection import HttpConnection
from ecotone.kube.reading.watching import EventDecoder, Meta, Partial, StreamError
from ecotone.kube.resources import Resource
from ecotone.model.errors import OutsideError

log = logging.getLogger(__name__)

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

PAGE = 5_000
PAGE_SECONDS = 120.0
PAGE_SILENCE_SECONDS = 20.0
"""A page may take long over a thin line; of one whose answer was lost nothing arrives at all."""
SILENCE_SECONDS = 150.0
WATCH_SECONDS = (300, 600)
FIRST_PAGE = {"limit": str(PAGE)}
MOST_TOLD = 256
"""Unreadable objects that are logged, each once; further ones are only counted."""


def ask_ahead(client: ApiClient, resources: Iterable[Resource]) -> None:
    """Asks for the lists that mirrors of these will begin with, before the mirrors are there."""
    for each in resources:
        client.ask_ahead(each.path(), query=FIRST_PAGE, timeout=PAGE_SECONDS, silence=PAGE_SILENCE_SECONDS)


class Sink(Protocol[T_contra]):
    """Receives the mirror's changes, synchronously and in order."""

    def upsert(self, item: T_contra) -> None: ...

    def remove(self, key: str, uid: str) -> None: ...

    def synced(self) -> None:
        """A complete list has been delivered."""


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class Reflector(Generic[T]):
    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        kind: type[T],
        sink: Sink[T],
        *,
        namespace: str | None = None,
        field_selector: str = "",
        label_selector: str = "",
        silence: float = SILENCE_SECONDS,
        optional: bool = False,
        turn: Callable[[], Awaitable[None]] | None = None,
        backoff: Backoff | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``turn`` is waited for between reading a list and delivering it: what it refers to may come first."""
        self._client = client
        self._resource = resource
        self._kind = kind
        self._sink = sink
        self._path = resource.path(namespace=namespace)
        self._selectors = {}
        if field_selector:
            self._selectors["fieldSelector"] = field_selector
        if label_selector:
            self._selectors["labelSelector"] = label_selector
        self._silence = silence
        self._optional = optional
        self._turn = turn
        self._backoff = backoff or Backoff()
        self._clock = clock
        self._known: dict[str, tuple[str, str]] = {}
        self._version = ""
        self._lists_finished = 0
        self._listed = asyncio.Condition()
        self._relist_wanted = asyncio.Event()
        self._stream: HttpConnection | None = None
        self.lists = 0
        self.watches = 0
        self.events = 0
        self.dropped = 0
        self._told_of: set[str] = set()
        self.last_heard = float("-inf")

    @property
    def resource(self) -> Resource:
        return self._resource

    @property
    def version(self) -> str:
        return self._version

    def __len__(self) -> int:
        return len(self._known)

    async def wait_synced(self) -> None:
        async with self._listed:
            await self._listed.wait_for(lambda: self._lists_finished > 0)

    async def resync(self) -> None:
        """Returns once a list that *started after this call* has been delivered (read-your-peers consistency)."""
        async with self._listed:
            goal = self.lists + 1
            self._relist_wanted.set()
            if self._stream is not None:
                self._stream.close()
            await self._listed.wait_for(lambda: self._lists_finished >= goal)

    async def again(self) -> None:
        """The same, and every object is delivered as if it had changed: the sink has come to see them otherwise."""
        self._known = {key: (uid, "") for key, (uid, _) in self._known.items()}
        await self.resync()

    async def run(self) -> None:
        """Mirrors until cancelled; no failure of the server ends it."""
        while True:
            try:
                if self._version == "" or self._relist_wanted.is_set():
                    await self._list()
                await self._watch()
            except ApiError as error:
                if error.gone or error.status == 400:
                    # Too old, or (after a restore from backup) from a future the server has not seen.
                    log.info("%s: version %s is gone, listing again", self._resource.plural, self._version)
                    self._version = ""
                    if error.gone:
                        continue
                elif self._optional and error.status in (403, 404):
                    await self._pretend_empty(error)
                await self._wait(error, at_least=error.retry_after)
            except (OutsideError, StreamError, msgspec.MsgspecError) as error:
                # Unreachable, credentials that cannot be had just now, or an answer that is no list.
                await self._wait(error)

    async def _wait(self, error: Exception, *, at_least: float | None = None) -> None:
        delay = self._backoff.next(at_least=at_least)
        log.warning("%s: %s; again in %.1f s", self._resource.plural, error, delay)
        await asyncio.sleep(delay)

    async def _pretend_empty(self, error: ApiError) -> None:
        """An optional kind that the server does not have, or does not let us read, is an empty one for now."""
        if self._lists_finished == 0:
            log.info("%s: not available (%s)", self._resource.plural, error.detail)
            self._backoff = Backoff(first=30, limit=300)
            self.lists += 1
            await self._finish_list()

    async def _list(self) -> None:
        self._relist_wanted.clear()
        self.lists += 1
        decoder = msgspec.json.Decoder(_List)
        raws: list[msgspec.Raw] = []
        token = ""
        while True:
            # Without a resourceVersion the answer is the most recent committed state, never an old cache.
            query = {**self._selectors, **FIRST_PAGE}
            if token:
                query["continue"] = token
            answer = await self._client.request(
                "GET", self._path, query=query, timeout=PAGE_SECONDS, silence=PAGE_SILENCE_SECONDS
            )
            page = decoder.decode(answer)
            raws += page.items or []
            token = page.metadata.continue_
            if not token:
                break
        if self._turn is not None:
            await self._turn()
        self.deliver(raws)
        self._version = page.metadata.resource_version
        self.last_heard = self._clock()
        self._backoff.reset()
        await self._finish_list()

    async def _finish_list(self) -> None:
        self._sink.synced()
        async with self._listed:
            self._lists_finished = self.lists
            self._listed.notify_all()

    def deliver(self, raws: list[msgspec.Raw]) -> None:
        """A complete list: what is new or changed goes to the sink, then what is gone."""
        partial, full = msgspec.json.Decoder(Partial), msgspec.json.Decoder(self._kind)
        vanished = dict(self._known)
        for raw in raws:
            key = ""
            try:
                meta = partial.decode(raw).metadata
                key = meta.key
                before = vanished.pop(key, None)
                if before == (meta.uid, meta.resource_version):
                    continue
                item = full.decode(raw)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                self._drop(key, error)
                continue
            self._upsert(key, meta, item)
        for key, (uid, _) in vanished.items():
            del self._known[key]
            self._sink.remove(key, uid)

    def _drop(self, key: str, error: Exception) -> None:
        self.dropped += 1
        if key in self._told_of or len(self._told_of) >= MOST_TOLD:
            return
        self._told_of.add(key)
        log.warning("%s %s could not be read and is ignored: %s", self._resource.kind, key or "without a name", error)

    def _upsert(self, key: str, meta: Meta, item: T) -> None:
        before = self._known.get(key)
        if before is not None and before[0] != meta.uid:
            # Deleted and created anew while we were not looking: two objects, not one that changed.
            self._sink.remove(key, before[0])
        self._known[key] = (meta.uid, meta.resource_version)
        self._sink.upsert(item)

    async def _watch(self) -> None:
        self.watches += 1
        seconds = random.randint(*WATCH_SECONDS)
        query = {
            **self._selectors,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._version,
            "timeoutSeconds": str(seconds),
        }
        decoder = EventDecoder(self._kind, dropped=self._drop)
        try:
            async with self._client.stream(self._path, query=query) as content:
                # Whoever wants a list ends the stream under us: a busy watch is not asked twice for every chunk.
                self._stream = content
                while not self._relist_wanted.is_set():
                    data = await self._next(content)
                    if not data:
                        return  # The server ends every watch after timeoutSeconds; that is no failure.
                    self.last_heard = self._clock()
                    self._apply(decoder, data)
                    self._backoff.reset()
        except UnreachableError:
            if not self._relist_wanted.is_set():
                raise
        finally:
            self._stream = None

    async def _next(self, content: HttpConnection) -> bytes:
        try:
            return await content.read(silence=self._silence)
        except TimeoutError:
            raise UnreachableError(f"no sign of life for {self._silence:g} s: the stream is replaced") from None

    def _apply(self, decoder: EventDecoder[T], data: bytes) -> None:
        for event in decoder.feed(data):
            if event.type == "DELETED":
                self.events += 1
                if self._known.pop(event.meta.key, None) is not None:
                    self._sink.remove(event.meta.key, event.meta.uid)
            elif event.item is not None:
                self.events += 1
                self._upsert(event.meta.key, event.meta, event.item)
            if event.meta.resource_version:
                self._version = event.meta.resource_version
