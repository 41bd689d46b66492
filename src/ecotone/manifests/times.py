"""RFC 3339 times as seconds since 1970, and back without loss.

A float of this century resolves a quarter of a microsecond; the text keeps as many digits as the float has, so that a
dumped snapshot replays with exactly the times it was taken with.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache

from ecotone.model.errors import InputError

_SHAPE = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}:\d{2})(?:\.(\d{1,330}))?([Zz]|[+-]\d{2}:\d{2})", flags=re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@lru_cache(maxsize=4096)
def parse_time(text: str) -> float:
    """Seconds since 1970; InputError if the text is no RFC 3339 time."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise _not_a_time(text)
    day, clock, fraction, zone = shape.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}").astimezone(UTC)
    except (ValueError, OverflowError):  # its zone may carry it out of the years that can be written
        raise _not_a_time(text) from None
    whole = (moment - _EPOCH) // timedelta(seconds=1)
    if fraction is None:
        return float(whole)
    return float(f"{whole}.{fraction}") if whole >= 0 else whole + float(f"0.{fraction}")


def time_or_none(text: str | None) -> float | None:
    """The time, or None where nothing readable is said."""
    try:
        return parse_time(text) if text else None
    except InputError:
        return None


def show_time(seconds: float) -> str:
    """RFC 3339 text that reads back to the same float (before 1970, to the nanosecond)."""
    exact = Decimal(repr(seconds)) if seconds >= 0 else Decimal(repr(round(seconds, 9)))
    whole = math.floor(exact)
    text = (_EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%dT%H:%M:%S")
    fraction = format(exact % 1 if seconds >= 0 else exact - whole, "f").partition(".")[2].rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"


def _not_a_time(text: str) -> InputError:
    return InputError(f"{text[:40]!r} is not a time", hint="write it like 2026-01-31T12:00:00Z")
