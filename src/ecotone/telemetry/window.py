"""Over how long a rate is taken, and when there is enough of it.

Two rules protect a value from being read too early. A series must *fill* the window: it has a sample at or before the
window's start, so that a pod's first seconds are not taken for its habit. And a window holds at least four scrapes: with
fewer, Prometheus' extrapolation at both ends is a large part of the answer. How often a target is scraped is seen from
how many samples the window holds, which works for every store that speaks PromQL.
"""

from __future__ import annotations

import re

from ecotone.model.errors import InputError

SCRAPES = 4
DEFAULT_WINDOW = 120.0
SHORTEST = 1.0
LONGEST = 3600.0

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_window(text: str) -> float:
    """Seconds of a duration as Prometheus writes them: 90s, 2m, 1m30s."""
    parts = _PART.findall(text)
    if not parts or "".join(f"{count}{unit}" for count, unit in parts) != text or len(text) > 32:
        raise InputError(f"{text[:40]!r} is not a window", hint="write it like 90s, 2m or 1m30s")
    seconds = float(sum(float(count) * _SECONDS[unit] for count, unit in parts))
    if not SHORTEST <= seconds <= LONGEST:
        raise InputError(f"a window of {text} is out of range", hint="1s to 1h")
    return seconds


def promql_duration(seconds: float) -> str:
    """The window as PromQL writes it."""
    milliseconds = max(1, round(seconds * 1000))
    return f"{milliseconds}ms" if milliseconds % 1000 else f"{milliseconds // 1000}s"


def next_window(current: float, *, wanted: float, samples: float | None) -> float:
    """The window to use from now on, given how many samples the current one held (None: nothing fills it yet)."""
    if samples is None:
        return max(current, wanted)
    needed = SCRAPES * current / samples if samples > 0 else 2 * current
    return min(LONGEST, max(wanted, needed))
