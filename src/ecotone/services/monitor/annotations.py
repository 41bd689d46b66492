"""What to write on an object, given what was measured and what stands there. Pure.

Every write of an annotation wakes all watchers of the object, and a Deployment's are copied to its ReplicaSets, so nothing
is written that would not change a decision: a value within the dead band of what is written stays. Three things break
the silence: a value that moved, a value that came or went, and the need to show that the values are still alive
(`measured-at` is refreshed at least every third of the age at which readers stop believing it).

`measured-at` is the time of the *oldest* value beside it. A value that was not measured this time is kept, with the time
that is written, until it is two thirds of that age old; then it goes, so that one dead peer never makes the others look
stale. Nothing else is remembered: a monitor that was just started, or just became leader, plans the same writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec

from ecotone.manifests import keys
from ecotone.manifests.times import show_time
from ecotone.telemetry.families import Figure
from ecotone.telemetry.nodes import AXES

SCALAR = ""
"""The only entry of a key that holds one value."""

Entries = Mapping[str, Figure]
Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Rules:
    dead_band: float = 0.05
    max_age: float = 300.0

    @property
    def refresh(self) -> float:
        return self.max_age / 3

    @property
    def keep(self) -> float:
        """How old a value that is measured no more may become before it is removed."""
        return self.max_age * 2 / 3


def everything(_: str) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Measured:
    """One key's values of this cycle."""

    entries: Entries = field(default_factory=dict)
    carries: Callable[[str], bool] = everything
    """True for a name whose written value may be kept for a while though it was not measured now."""
    zero_is_absent: bool = False
    """True if a measured zero means that there is nothing to write (no traffic), not a value."""


class Key(msgspec.Struct, frozen=True):
    """How one annotation is read and written."""

    name: str
    read: Callable[[str], Mapping[str, float] | None]
    show: Callable[[Mapping[str, float]], str]


def plan(
    measured: Mapping[str, Measured], written: Texts, *, of: Mapping[str, Key], now: float, rules: Rules
) -> dict[str, str] | None:
    """All annotations that should stand on the object now; None if what stands there is good enough."""
    at_written = keys.measured_at(written)
    if at_written is not None and at_written > now + 30:
        at_written = None
    carried_at = at_written if at_written is not None and now - at_written <= rules.keep else None
    old = {name: dict(key.read(written[name]) or {}) for name, key in of.items() if name in written}
    new: dict[str, dict[str, float]] = {}
    times: list[float] = []
    for name in of:
        values, taken = _merged(measured.get(name), old.get(name, {}), carried_at=carried_at)
        if values:
            new[name] = values
            times += taken
    if not new:
        return {} if old or keys.MEASURED_AT in written else None
    at = min(times)
    alive = at_written is not None and at - at_written < rules.refresh
    if alive and old.keys() == new.keys() and all(_close(old[name], new[name], rules.dead_band) for name in new):
        return None
    shown = {name: of[name].show(values) for name, values in new.items()}
    return {**shown, keys.MEASURED_AT: show_time(round(at, 3))}


def _merged(
    measured: Measured | None, old: Mapping[str, float], *, carried_at: float | None
) -> tuple[dict[str, float], list[float]]:
    measured = measured or Measured()
    values: dict[str, float] = {}
    times: list[float] = []
    for name, figure in measured.entries.items():
        value = _readable(figure.value)
        if value is not None and not (measured.zero_is_absent and value <= 0):
            values[name] = value
            times.append(figure.at)
    for name, value in old.items():
        if carried_at is not None and name not in measured.entries and measured.carries(name):
            values[name] = value
            times.append(carried_at)
    return values, times


def _readable(value: float) -> float | None:
    """The value as a reader of the annotation will take it; None if it will take it for nonsense."""
    if not math.isfinite(value):
        return None
    size = keys.number(abs(value))
    return None if size is None else math.copysign(size, value)


def _close(old: Mapping[str, float], new: Mapping[str, float], band: float) -> bool:
    if old.keys() != new.keys():
        return False
    return all(abs(new[name] - value) <= band * max(abs(new[name]), abs(value)) for name, value in old.items())


# The keys


def _scalar(read: Callable[[Texts], float | None], name: str) -> Callable[[str], Mapping[str, float] | None]:
    def reading(text: str) -> Mapping[str, float] | None:
        value = read({name: text})
        return None if value is None else {SCALAR: value}

    return reading


def _millicores(values: Mapping[str, float]) -> str:
    return f"{round(values[SCALAR])}m"


def _whole_bytes(values: Mapping[str, float]) -> str:
    return str(round(values[SCALAR]))


def _table(values: Mapping[str, float]) -> str:
    return msgspec.json.encode({name: _rounded(values[name]) for name in sorted(values)}).decode()


def _rounded(value: float) -> float:
    """Six significant digits: far below the dead band, and short."""
    return float(f"{value:.6g}")


def _read_coordinates(text: str) -> Mapping[str, float] | None:
    found = keys.coordinates({keys.COORDINATES: text})
    if found is None:
        return None
    axes = {str(number): value for number, value in enumerate(found.vector)}
    return {**axes, "height": found.height, "error": found.error}


def _show_coordinates(values: Mapping[str, float]) -> str:
    axes = [name for name in AXES if name in values]
    document = {
        "vector": [_rounded(values[name]) for name in axes],
        "height": _rounded(max(0.0, values.get("height", 0.0))),
        "error": _rounded(values.get("error", 0.0)),
    }
    return msgspec.json.encode(document).decode()


def _of(*several: Key) -> dict[str, Key]:
    return {key.name: key for key in several}


NODE_KEYS = _of(
    Key(keys.AVAILABLE_CPU, _scalar(keys.available_cpu, keys.AVAILABLE_CPU), _millicores),
    Key(keys.AVAILABLE_MEMORY, _scalar(keys.available_memory, keys.AVAILABLE_MEMORY), _whole_bytes),
    Key(keys.LATENCIES, keys.json_numbers, _table),
    Key(keys.COORDINATES, _read_coordinates, _show_coordinates),
)
WORKLOAD_KEYS = _of(
    Key(keys.CPU_USAGE, _scalar(keys.cpu_usage, keys.CPU_USAGE), _millicores),
    Key(keys.MEMORY_USAGE, _scalar(keys.memory_usage, keys.MEMORY_USAGE), _whole_bytes),
    Key(keys.TRAFFIC, keys.json_numbers, _table),
    Key(keys.REQUESTS, keys.json_numbers, _table),
    Key(keys.CALLS, keys.json_numbers, _table),
)
