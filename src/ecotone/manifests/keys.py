"""The keys on Kubernetes objects, and how their values are read.

Ours carry the prefix `ecotone.dev/`; the bare ones are written by the other tools of the family, whose objects are read
too. What is measured may be nonsense at any time (a "NaN" after a failed query, half a write), so a value that cannot be
read is unknown, never an error. The functions take one mapping, annotations and labels laid over each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from ecotone.manifests.spelling import nearest
from ecotone.manifests.times import time_or_none
from ecotone.model import quantity
from ecotone.model.columns.network import known
from ecotone.model.errors import InputError
from ecotone.model.objects import Coordinates

PREFIX = "ecotone.dev/"
AVAILABLE_CPU = PREFIX + "available-cpu"
AVAILABLE_MEMORY = PREFIX + "available-memory"
LATENCIES = PREFIX + "latencies"
BANDWIDTHS = PREFIX + "bandwidths"
LOSSES = PREFIX + "losses"
MEASURED_AT = PREFIX + "measured-at"
MEASURED_FROM = PREFIX + "measured-from"
ERRORS = PREFIX + "errors"
COORDINATES = PREFIX + "coordinates"
TIER = PREFIX + "tier"
PRICE = PREFIX + "price-per-hour"
CPU_USAGE = PREFIX + "cpu-usage"
MEMORY_USAGE = PREFIX + "memory-usage"
TRAFFIC = PREFIX + "traffic"
REQUESTS = PREFIX + "requests"
CALLS = PREFIX + "calls"
EDGE_SHARE = PREFIX + "edge-share"
TARGET_LATENCY = PREFIX + "target-latency"
REDUNDANCY = PREFIX + "redundancy"
AFFINITY = PREFIX + "affinity"
DEADLINES = PREFIX + "deadlines"
SOFT_DEADLINES = PREFIX + "soft-deadlines"
PROTOCOLS = PREFIX + "protocols"
INDEX = PREFIX + "index"
ROLE = PREFIX + "role"
EXTERNAL = PREFIX + "external"
MAX_LATENCY = PREFIX + "max-latency"
NONZERO = PREFIX + "nonzero-requests"
WHY = PREFIX + "why"
APP_GROUP = "app-group"
APP = "app"

SMALLEST = 1e-12
MOST_DIMENSIONS = 32
MEBI = 1024.0 * 1024.0
SYNCHRONOUS = {
    "http": True,
    "grpc": True,
    "tcp": True,
    "amqp": False,
    "mqtt": False,
    "httpserverpush": False,
    "synchronous": True,
    "asynchronous": False,
}
LEVELS_OF_REDUNDANCY = ("none", "node", "zone")
LATENCY_PREFIXES = ("network-cost-", "l-", "network-latency.")
BANDWIDTH_PREFIXES = ("network-bandwidth.",)
LOSS_PREFIXES = ("packet-loss.",)
_DAFF = "daff-"
TRAFFIC_PREFIXES = (_DAFF, "traff-", "traffic.", "traffic-")
REQUESTS_PREFIXES = ("rps.",)
AFFINITY_PREFIXES = ("saff-",)
_SIBLINGS = (
    *("available-cpu", "available-memory", "cpu-usage", "memory-usage", "index"),
    *(*LATENCY_PREFIXES, *BANDWIDTH_PREFIXES, *LOSS_PREFIXES, *TRAFFIC_PREFIXES, *REQUESTS_PREFIXES),
    *AFFINITY_PREFIXES,
)
_READ = (PREFIX, APP_GROUP, *_SIBLINGS)
# Ours, but told by a decision or a dump, not by whoever wrote the object.
_NOT_SAID = frozenset({WHY, NONZERO})
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ns|us|µs|ms|s|m|h)")
_MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4, "h": 3.6e6}

Notes = Mapping[str, str]


def read_by_us(*mappings: Notes) -> dict[str, str]:
    """Only the keys that any function here reads, a later mapping's winning: of most objects nothing is left."""
    return {
        key: text for each in mappings for key, text in each.items() if key.startswith(_READ) and key not in _NOT_SAID
    }


def number(value: object) -> float | None:
    """A finite number that is not negative, from a number or its text; else unknown."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if not known(value):
        return None
    found = float(value)
    # What is next to nothing is nothing: dividing by it would be beyond all bounds again.
    return found if found >= SMALLEST else 0.0


def quantity_of(notes: Notes, ours: str, theirs: str, *, scale: float, per_unit: int) -> float | None:
    """Our key's quantity, else the siblings' key, whose bare number counts `scale` each. Not rounded: it is measured."""
    if ours in notes:
        return _quantity(notes[ours], per_unit)
    given = notes.get(theirs)
    if given is None:
        return None
    bare = number(given)
    return _quantity(given, per_unit) if bare is None else without_dust(bare * scale, per_unit)


def _quantity(text: str, per_unit: int) -> float | None:
    try:
        amount = float(quantity.parse(text.strip()) * per_unit)
    except (InputError, OverflowError):
        return None
    return without_dust(amount, per_unit) if known(amount) else None


def without_dust(amount: float, per_unit: int) -> float:
    """Nothing below a billionth of a unit, the finest a Kubernetes quantity can say; what is less is rounding error."""
    return amount if amount >= per_unit / 1e9 else 0.0


def decimal(value: float) -> str:
    """All digits of a float, without an exponent: what quantities and labels can hold."""
    return format(Decimal(repr(value)), "f")


def available_cpu(notes: Notes) -> float | None:
    return quantity_of(notes, AVAILABLE_CPU, "available-cpu", scale=1.0, per_unit=1000)


def available_memory(notes: Notes) -> float | None:
    return quantity_of(notes, AVAILABLE_MEMORY, "available-memory", scale=MEBI, per_unit=1)


def cpu_usage(notes: Notes) -> float | None:
    return quantity_of(notes, CPU_USAGE, "cpu-usage", scale=1.0, per_unit=1000)


def memory_usage(notes: Notes) -> float | None:
    return quantity_of(notes, MEMORY_USAGE, "memory-usage", scale=MEBI, per_unit=1)


def latencies(notes: Notes) -> dict[str, float] | None:
    return _per_peer(notes, LATENCIES, LATENCY_PREFIXES)


def bandwidths(notes: Notes) -> dict[str, float] | None:
    return _per_peer(notes, BANDWIDTHS, BANDWIDTH_PREFIXES)


def losses(notes: Notes) -> dict[str, float] | None:
    """Shares between 0 and 1; the siblings write percent."""
    if LOSSES in notes:
        return json_numbers(notes[LOSSES])
    found = _per_peer(notes, LOSSES, LOSS_PREFIXES)
    return None if found is None else {peer: value / 100.0 for peer, value in found.items()}


def traffic(notes: Notes) -> dict[str, float] | None:
    return _per_peer(notes, TRAFFIC, TRAFFIC_PREFIXES)


def perhaps_proxies(notes: Notes) -> list[str]:
    """Peers that the thesis' key names, which may be input proxies by the names of their pods."""
    given = () if TRAFFIC in notes else notes
    return [key[len(_DAFF) :] for key in given if key.startswith(_DAFF) and len(key) > len(_DAFF)]


def requests(notes: Notes) -> dict[str, float] | None:
    """Requests per second and peer: what a service mesh counts beside the bytes."""
    return _per_peer(notes, REQUESTS, REQUESTS_PREFIXES)


def calls(notes: Notes) -> dict[str, float] | None:
    """Requests per second sent to each peer: the direction that `requests` does not tell."""
    return _per_peer(notes, CALLS, ())


def edge_share(notes: Notes) -> float | None:
    """The share of a workload's pods that is promised to the edge, 0 to 1."""
    share = number(notes.get(EDGE_SHARE))
    return share if share is not None and share <= 1 else None


def target_latency(notes: Notes) -> float | None:
    return milliseconds(notes.get(TARGET_LATENCY))


def redundancy(notes: Notes) -> str | None:
    """What the owner wants a workload's replicas to survive."""
    given = notes.get(REDUNDANCY, "").strip().lower()
    return given if given in LEVELS_OF_REDUNDANCY else None


def affinity(notes: Notes) -> dict[str, float] | None:
    return _per_peer(notes, AFFINITY, AFFINITY_PREFIXES)


def _per_peer(notes: Notes, ours: str, prefixes: tuple[str, ...]) -> dict[str, float] | None:
    """Our JSON object, else one key per peer under the siblings' prefixes (a later prefix wins)."""
    if ours in notes:
        return json_numbers(notes[ours])
    if not notes:
        return None
    found: dict[str, float] = {}
    for prefix in prefixes:
        for key, text in notes.items():
            if key.startswith(prefix) and len(key) > len(prefix):
                value = number(text)
                if value is not None:
                    found[key[len(prefix) :]] = value
    return found or None


def json_numbers(text: str) -> dict[str, float] | None:
    """A JSON object of numbers without the entries that are none; None if it is no object."""
    found = json_object(text)
    if found is None:
        return None
    usable = {peer: number(value) for peer, value in found.items()}
    return {peer: value for peer, value in usable.items() if value is not None}


def json_object(text: str) -> dict[str, Any] | None:
    """A JSON object, also as careless writers have it, with NaN, Infinity and 1e999 among its numbers."""
    if not text:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        pass
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def synchronous(notes: Notes) -> dict[str, bool]:
    """Which peers are waited for: true for HTTP, gRPC, TCP; false for AMQP, MQTT, HTTPServerPush."""
    found = json_object(notes.get(PROTOCOLS, ""))
    if not found:
        return {}
    kinds = {peer: SYNCHRONOUS.get(str(name).lower().removesuffix("route")) for peer, name in found.items()}
    return {peer: waits for peer, waits in kinds.items() if waits is not None}


def deadlines(notes: Notes) -> dict[str, float]:
    return json_numbers(notes[DEADLINES]) or {} if DEADLINES in notes else {}


def soft_deadlines(notes: Notes) -> dict[str, float]:
    """Milliseconds that a peer should be within; a node beyond them is dearer, not impossible."""
    return json_numbers(notes[SOFT_DEADLINES]) or {} if SOFT_DEADLINES in notes else {}


def index(labels: Notes) -> int | None:
    text = labels.get(INDEX) or labels.get("index")
    return int(text) if text and re.fullmatch(r"[+-]?\d{1,9}", text, flags=re.ASCII) else None


def milliseconds(text: str | None) -> float | None:
    """`50ms`, `1.5s`; a bare number is milliseconds."""
    if text is None:
        return None
    shape = _DURATION.fullmatch(text.strip())
    return number(float(shape[1]) * _MILLISECONDS[shape[2]] if shape else text)


def coordinates(notes: Notes) -> Coordinates | None:
    found = json_object(notes.get(COORDINATES, ""))
    if found is None or not isinstance(found.get("vector"), list) or len(found["vector"]) > MOST_DIMENSIONS:
        return None
    vector = [_finite(value) for value in found["vector"]]
    height = number(found.get("height", 0.0))
    error = number(found.get("error", 0.0))
    if not vector or any(value is None for value in vector) or height is None:
        return None
    return Coordinates(tuple(value for value in vector if value is not None), height, error or 0.0)


def _finite(value: object) -> float | None:
    """A number of either sign within bounds, else None."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not known(abs(value)):
        return None
    return float(value)


_JSON_OBJECTS = (
    LATENCIES,
    BANDWIDTHS,
    LOSSES,
    TRAFFIC,
    REQUESTS,
    CALLS,
    AFFINITY,
    DEADLINES,
    SOFT_DEADLINES,
    PROTOCOLS,
)


def unreadable(notes: Notes) -> list[str]:
    """Our own keys that are there and say nothing anybody could use: most often a slip of the pen."""
    checks: dict[str, object] = {
        AVAILABLE_CPU: available_cpu(notes),
        AVAILABLE_MEMORY: available_memory(notes),
        CPU_USAGE: cpu_usage(notes),
        MEMORY_USAGE: memory_usage(notes),
        MEASURED_AT: measured_at(notes),
        MAX_LATENCY: milliseconds(notes.get(MAX_LATENCY)),
        EDGE_SHARE: edge_share(notes),
        TARGET_LATENCY: target_latency(notes),
        REDUNDANCY: redundancy(notes),
        COORDINATES: coordinates(notes),
        INDEX: index(notes),
        PRICE: number(notes.get(PRICE)),
        **{key: json_object(notes[key]) for key in _JSON_OBJECTS if key in notes},
    }
    return [key for key, value in checks.items() if key in notes and value is None]


_PER_PEER = (LATENCIES, BANDWIDTHS, LOSSES, TRAFFIC, REQUESTS, AFFINITY)
_OWN = frozenset(
    value
    for value in tuple(globals().values())
    if isinstance(value, str) and value.startswith(PREFIX) and value != PREFIX
)


def misspelt(notes: Notes) -> list[tuple[str, str]]:
    """Keys that look like one of ours and are none, each with the nearest that is."""
    found = []
    for key in notes:
        if key.startswith(PREFIX) and key not in _OWN:
            near = nearest(key, _OWN, cutoff=0.85)
            if near is not None:
                found.append((key, near))
    return found


def unreadable_entries(notes: Notes) -> list[tuple[str, str]]:
    """Peers whose figure was left out because it is no number that can be: (key, peer)."""
    found = []
    for key in _PER_PEER:
        given = json_object(notes[key]) if key in notes else None
        if given:
            usable = json_numbers(notes[key]) or {}
            found += [(key, str(peer)) for peer in given if peer not in usable]
    return found


def measured_at(notes: Notes) -> float | None:
    return time_or_none(notes.get(MEASURED_AT))
