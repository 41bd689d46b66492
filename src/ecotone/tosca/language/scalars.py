"""TOSCA's own scalar types: units, versions, ranges, timestamps (standard, 3.3).

`200 ms` and `200ms` are the same time. Units are recognised in any letter case except bit rates, where `bps` and `Bps`
differ by a factor of eight. Values become exact fractions of the base unit (bytes, seconds, hertz, bits per second), so
that `1 GB` and `1000 MB` compare equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering

_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_PREFIXES = {**_DECIMAL, **_BINARY}

SIZE: dict[str, Fraction] = {
    "b": Fraction(1),
    **{f"{prefix}b": Fraction(factor) for prefix, factor in _PREFIXES.items()},
}
TIME: dict[str, Fraction] = {
    "d": Fraction(86400),
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 10**3),
    "us": Fraction(1, 10**6),
    "ns": Fraction(1, 10**9),
}
FREQUENCY: dict[str, Fraction] = {
    "hz": Fraction(1),
    "khz": Fraction(10**3),
    "mhz": Fraction(10**6),
    "ghz": Fraction(10**9),
}
BITRATE: dict[str, Fraction] = {
    f"{prefix.capitalize()}{base}": Fraction(factor * bits)
    for prefix, factor in {"": 1, **_PREFIXES}.items()
    for base, bits in (("bps", 1), ("Bps", 8))
}
UNITS = {
    "scalar-unit.size": SIZE,
    "scalar-unit.time": TIME,
    "scalar-unit.frequency": FREQUENCY,
    "scalar-unit.bitrate": BITRATE,
}
SHOWN = {
    "scalar-unit.size": "B, kB, KiB, MB, MiB, GB, GiB, TB, TiB",
    "scalar-unit.time": "d, h, m, s, ms, us, ns",
    "scalar-unit.frequency": "Hz, kHz, MHz, GHz",
    "scalar-unit.bitrate": "bps, Kbps, Kibps, Mbps, Mibps, Gbps, Gibps, Bps, KBps, ...",
}
_LONGEST = 64
_SCALAR = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?)\s*([A-Za-z]+)")
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9})(?:\.([A-Za-z]\w{0,60})(?:-([0-9]{1,9}))?)?)?")
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
    r"(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?)?"
)


@total_ordering
@dataclass(frozen=True, slots=True)
class ScalarUnit:
    """A number with a unit; compares by its value in the base unit."""

    amount: Fraction
    unit: str
    base: Fraction

    def __lt__(self, other: ScalarUnit) -> bool:
        return self.base < other.base

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScalarUnit) and self.base == other.base

    def __hash__(self) -> int:
        return hash(self.base)


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """major.minor.fix.qualifier-build; a qualified version comes after the plain one of the same number."""

    major: int
    minor: int
    fix: int = 0
    qualifier: str = ""
    build: int = 0


@dataclass(frozen=True, slots=True)
class Range:
    """From lower to upper, both included; upper None is UNBOUNDED."""

    lower: int
    upper: int | None

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.lower <= value and (self.upper is None or value <= self.upper)

    def __str__(self) -> str:
        return f"[{self.lower}, {'UNBOUNDED' if self.upper is None else self.upper}]"


def scalar_unit(text: str, kind: str) -> ScalarUnit | None:
    """A scalar-unit value; None when it is none of that kind."""
    match = _SCALAR.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        return None
    factor = _factor(match[2], kind)
    if factor is None:
        return None
    amount = Fraction(match[1])
    return ScalarUnit(amount, match[2], amount * factor)


def _factor(unit: str, kind: str) -> Fraction | None:
    table = UNITS[kind]
    if kind != "scalar-unit.bitrate":
        return table.get(unit.lower())
    prefix, base = unit[:-3], unit[-3:]
    return table.get(prefix.capitalize() + base)


def version(text: str) -> Version | None:
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    major, minor, fix, qualifier, build = match.groups()
    return Version(int(major), int(minor), int(fix or 0), qualifier or "", int(build or 0))


def is_timestamp(text: str) -> bool:
    return len(text) <= _LONGEST and _TIMESTAMP.fullmatch(text) is not None
