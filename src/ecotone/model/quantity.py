"""Kubernetes quantities, exactly.

`100m`, `1.5Gi` and `2e3` are decimal or binary multiples; floating point would round them, so they are fractions here and
become integers only the way Kubernetes does it: rounded up, in the unit of the column (millicores, bytes, pieces).
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from ecotone.model.errors import InputError

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SHAPE = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([A-Za-z]*))")
_LONGEST = 64
_WIDEST_EXPONENT = 40

# The most that one pod asks for or one node offers: nine petabytes, or as many millicores. A hundred times the sums of a node
# (`MOST_ON_A_NODE`), as Kubernetes' scores compute them, still fits the 64 bits of a column.
LARGEST = 2**53
MOST_ON_A_NODE = 2**56
# The API server's own bound; it writes this for whatever was larger.
_API_LARGEST = 2**63

SUFFIXES = (*(suffix for suffix in _DECIMAL if suffix), *_BINARY)


def whole(text: str, *, most: int) -> int | None:
    """A whole number from 0 to `most` in plain digits; None for any other text.

    `str.isdigit` is no test for what `int` takes: it lets superscripts through, and thousands of digits.
    """
    if not text.isascii() or not text.isdigit() or len(text) > _LONGEST:
        return None
    number = int(text)
    return number if number <= most else None


@lru_cache(maxsize=8192)
def parse(text: str | int | float) -> Fraction:
    """The exact value of a quantity; InputError if it is not one."""
    if isinstance(text, int):
        return Fraction(text)
    if isinstance(text, float):
        if not math.isfinite(text):
            raise InputError(f"quantity {text!r} is not a number")
        return Fraction(repr(text))
    shape = _SHAPE.fullmatch(text) if len(text) <= _LONGEST else None
    if shape is None:
        raise InputError(
            f"quantity {text[:_LONGEST]!r} is not a number with a unit", hint="write for example 100m, 0.5 or 2Gi"
        )
    sign, digits, exponent, suffix = shape.groups()
    number = Fraction(digits if not digits.endswith(".") else digits[:-1])
    if sign == "-":
        number = -number
    if exponent is not None:
        power = int(exponent[1:])
        if abs(power) > _WIDEST_EXPONENT:
            raise InputError(f"quantity {text!r} has an exponent out of range")
        return number * _power_of_ten(power)
    if suffix in _DECIMAL:
        return number * _power_of_ten(_DECIMAL[suffix])
    if suffix in _BINARY:
        return number * (1 << _BINARY[suffix])
    raise InputError(f"quantity {text!r} has the unknown suffix {suffix!r}", hint="known: " + " ".join(SUFFIXES))


def _power_of_ten(power: int) -> Fraction:
    return Fraction(10**power) if power >= 0 else Fraction(1, 10**-power)


def value(text: str | int | float) -> int:
    """In whole units (bytes, pieces, cores), rounded up so that a request is never taken for less than it is."""
    return math.ceil(parse(text))


def milli(text: str | int | float) -> int:
    """In thousandths, rounded up: millicores."""
    return math.ceil(parse(text) * 1000)


def of_resource(resource: str, text: str | int | float) -> int:
    """In the unit of a snapshot's column for that resource."""
    return milli(text) if resource == "cpu" else value(text)


def bounded(resource: str, text: str | int | float) -> int:
    """The same, never more than `LARGEST`; InputError for what no API server would hand out."""
    exact = parse(text)
    if exact < 0:
        raise InputError(f"{resource}: quantity {text!r} is negative")
    if exact > _API_LARGEST:
        raise InputError(f"{resource}: quantity {text!r} is larger than anything")
    return min(LARGEST, of_resource(resource, text))


def show_cpu(millicores: float) -> str:
    """`250m`, `2`, `1.5` as a person writes CPU."""
    return f"{millicores:.0f}m" if abs(millicores) < 1000 else f"{millicores / 1000:.3g}"


def show_bytes(size: float) -> str:
    """`64Mi`, `1.5Gi` as a person writes memory."""
    for suffix, power in reversed(_BINARY.items()):
        if abs(size) >= 2**power:
            return f"{size / 2**power:.4g}{suffix}"
    return f"{size:.0f}"


def show(resource: str, amount: float) -> str:
    """A column's value in the unit people use for that resource."""
    if resource == "cpu":
        return show_cpu(amount)
    if resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-"):
        return show_bytes(amount)
    return f"{amount:g}"
