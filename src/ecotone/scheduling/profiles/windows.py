"""Maintenance windows: the hours in which running pods may be moved.

Written as `Mon-Fri 22:00-06:00`, `Sat,Sun` or `02:00-04:00`: days, hours, or both, in UTC like every time on a cluster. A
window that ends before it begins goes on into the next day and belongs to the day it began on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ecotone.model.errors import InputError

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EXAMPLE = "Mon-Fri 22:00-06:00, Sat,Sun or 02:00-04:00, in UTC"
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]|24):([0-5]\d)")
_WHOLE_DAY = 24 * 60


@dataclass(frozen=True, slots=True)
class Window:
    """`days` count from Monday; `begin` and `end` are minutes of the day."""

    text: str
    days: frozenset[int]
    begin: int
    end: int

    def contains(self, now: float) -> bool:
        moment = datetime.fromtimestamp(now, UTC)
        minute = moment.hour * 60 + moment.minute
        if self.begin < self.end:
            return moment.weekday() in self.days and self.begin <= minute < self.end
        yesterday = (moment - timedelta(days=1)).weekday()
        return (moment.weekday() in self.days and minute >= self.begin) or (
            yesterday in self.days and minute < self.end
        )


def parse_window(text: str) -> Window:
    words = text.split()
    hours = words.pop() if words and ":" in words[-1] else None
    if len(words) > 1 or not (words or hours):
        raise _wrong(text)
    days = _days(words[0], text) if words else frozenset(range(7))
    if hours is None:
        return Window(text, days, 0, _WHOLE_DAY)
    found = _HOURS.fullmatch(hours)
    if found is None:
        raise _wrong(text)
    first, second, third, fourth = (int(each) for each in found.groups())
    begin, end = first * 60 + second, third * 60 + fourth
    if end > _WHOLE_DAY or begin == end:
        raise _wrong(text)
    return Window(text, days, begin, end)


def is_open(windows: tuple[str, ...], now: float) -> bool:
    """True if moves are allowed now; without windows they always are."""
    return not windows or any(parse_window(each).contains(now) for each in windows)


def _days(word: str, text: str) -> frozenset[int]:
    days: set[int] = set()
    for part in word.split(","):
        ends = part.split("-")
        if len(ends) > 2 or any(day not in DAYS for day in ends):
            raise _wrong(text)
        begin, end = DAYS.index(ends[0]), DAYS.index(ends[-1])
        days.update((begin + each) % 7 for each in range((end - begin) % 7 + 1))
    return frozenset(days)


def _wrong(text: str) -> InputError:
    return InputError(f"{text!r} is no maintenance window", hint=f"write it like {_EXAMPLE}")
