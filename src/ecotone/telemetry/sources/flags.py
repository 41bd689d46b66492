"""Flags of a Prometheus that let others push series into it."""

from __future__ import annotations

import msgspec

from ecotone.telemetry.samples import MalformedError

PATH = "status/flags"
RECEIVERS = ("web.enable-remote-write-receiver", "web.enable-otlp-receiver")


class _Answer(msgspec.Struct):
    data: dict[str, str]


_answers = msgspec.json.Decoder(_Answer)


def open_receivers(body: bytes) -> tuple[str, ...]:
    try:
        flags = _answers.decode(body).data
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedError(f"the flags cannot be read: {error}") from None
    return tuple(f"--{name}" for name in RECEIVERS if flags.get(name) == "true")
