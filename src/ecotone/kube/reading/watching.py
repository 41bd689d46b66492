"""The bytes of a watch: newline-separated JSON events, split and decoded in whole chunks.

A busy cluster sends many events in one TCP segment, so lines are decoded by the chunk (one call for all of them) and
only the fields of the caller's type are built. A line that does not fit the type is dropped and counted rather than
stopping the stream: one odd object must not blind a scheduler to all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import msgspec

from ecotone.kube.errors import ApiError, Status

T = TypeVar("T")

LINE_LIMIT = 64 << 20


class StreamError(Exception):
    """The stream itself is unusable: a line beyond any sane object size."""


class Meta(msgspec.Struct, rename="camel"):
    """The identity and version of an object; enough to file it."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Partial(msgspec.Struct):
    metadata: Meta


class _Envelope(msgspec.Struct):
    type: str
    object: msgspec.Raw


class Event(msgspec.Struct, Generic[T]):
    """ADDED and MODIFIED carry ``item``; DELETED and BOOKMARK only ``meta``."""

    type: str
    meta: Meta
    item: T | None


class EventDecoder(Generic[T]):
    def __init__(self, kind: type[T], *, dropped: Callable[[str, Exception], None]) -> None:
        """``dropped`` hears of every line that is left out: the object's key where it can be read, and why."""
        self._envelopes = msgspec.json.Decoder(_Envelope)
        self._meta = msgspec.json.Decoder(Partial)
        self._item = msgspec.json.Decoder(kind)
        self._pending = b""
        self._dropped = dropped

    def feed(self, chunk: bytes) -> Iterator[Event[T]]:
        """The events completed by this chunk; raises ``ApiError`` for an ERROR event, after all before it."""
        data = self._pending + chunk if self._pending else chunk
        end = data.rfind(b"\n")
        if end < 0:
            if len(data) > LINE_LIMIT:
                raise StreamError(f"a watch event of more than {LINE_LIMIT} bytes")
            self._pending = data
            return
        self._pending = data[end + 1 :]
        for envelope in self._decode_lines(data[: end + 1]):
            event = self._open(envelope)
            if event is not None:
                yield event

    def _decode_lines(self, data: bytes) -> list[_Envelope]:
        try:
            return self._envelopes.decode_lines(data)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            envelopes = []
            for line in data.splitlines():
                try:
                    envelopes.append(self._envelopes.decode(line))
                except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                    if line.strip():
                        self._dropped("", error)
            return envelopes

    def _open(self, envelope: _Envelope) -> Event[T] | None:
        if envelope.type == "ERROR":
            status = msgspec.json.decode(envelope.object, type=Status)
            raise ApiError(status.code or 500, status.message or "watch error", reason=status.reason)
        key = ""
        try:
            meta = self._meta.decode(envelope.object).metadata
            key = meta.key
            # Who is gone need not be understood: an object that became unreadable must still be able to leave.
            item = None if envelope.type in ("BOOKMARK", "DELETED") else self._item.decode(envelope.object)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            self._dropped(key, error)
            return None
        return Event(envelope.type, meta, item)
