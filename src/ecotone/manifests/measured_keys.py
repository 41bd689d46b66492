"""Which keys hold what was measured, in every spelling that is read: the one list that reading, admission and removal share.

What an owner declares (affinity, bounds, promises, index) is his to write. What was measured moves other people's pods as
well, so on a live cluster somebody must answer for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ecotone.manifests import keys

NODE_FIGURES = (
    keys.AVAILABLE_CPU,
    keys.AVAILABLE_MEMORY,
    keys.LATENCIES,
    keys.BANDWIDTHS,
    keys.LOSSES,
    keys.COORDINATES,
)
WORKLOAD_FIGURES = (keys.CPU_USAGE, keys.MEMORY_USAGE, keys.TRAFFIC, keys.REQUESTS, keys.CALLS)
STAMPS = (keys.MEASURED_AT, keys.MEASURED_FROM, keys.ERRORS)
"""What says how far the figures beside it can be trusted: a figure that loses these would look better than it is."""
OURS = (*NODE_FIGURES, *WORKLOAD_FIGURES, *STAMPS)
THEIRS = ("available-cpu", "available-memory", "cpu-usage", "memory-usage")
PREFIXES = (
    *keys.LATENCY_PREFIXES,
    *keys.BANDWIDTH_PREFIXES,
    *keys.LOSS_PREFIXES,
    *keys.TRAFFIC_PREFIXES,
    *keys.REQUESTS_PREFIXES,
)
_PUBLISHED = frozenset({*OURS, *THEIRS})


def pattern() -> str:
    """A regular expression (RE2 and Python alike) that matches exactly the measured keys."""
    ours = "|".join(re.escape(key.removeprefix(keys.PREFIX)) for key in OURS)
    theirs = "|".join(re.escape(key) for key in THEIRS)
    prefixes = "|".join(re.escape(prefix) for prefix in PREFIXES)
    return f"^({re.escape(keys.PREFIX)}({ours})|{theirs}|({prefixes}).+)$"


def is_measured(key: str) -> bool:
    return key in _PUBLISHED or key.startswith(PREFIXES)


def without_measured(notes: Mapping[str, str]) -> Mapping[str, str]:
    """What the owner alone has said; the same mapping where nothing else is in it."""
    if not any(is_measured(key) for key in notes):
        return notes
    return {key: text for key, text in notes.items() if not is_measured(key)}
