"""Quantities as people write them in scenario files: `10ms`, `4KiB`, `100Mbit`, `60%`.

A number without its unit is the commonest mistake in such files and silently a thousand times wrong, so it is refused
with the text that was probably meant. Zero alone needs no unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ecotone.manifests.yaml.positions import Node
from ecotone.model.quantity import LARGEST

_NUMBER = re.compile(r"([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(\S*)")
TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SIZES = {
    "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3,
}  # fmt: skip
RATES = {"bit": 1.0, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}


def duration(node: Node) -> float:
    """Seconds."""
    return _quantity(node, TIMES, what="duration", example="ms")


def size(node: Node) -> float:
    """Bytes."""
    return _quantity(node, SIZES, what="size", example="kB")


def rate(node: Node) -> float:
    """Bytes per second, from bits per second."""
    value = _quantity(node, RATES, what="rate", example="Mbit") / 8
    if value <= 0:
        raise node.error("a bandwidth must be above 0", hint="leave it out for unlimited bandwidth")
    return value


def share(node: Node) -> float:
    """A fraction, from per cent."""
    return _quantity(node, {"%": 0.01}, what="share", example="%")


def number(node: Node, *, what: str, least: float = 0.0, above: bool = False) -> float:
    if not node.is_scalar or isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise node.error(f"{what} must be a number, not {node.describe()}")
    value = float(node.value)
    if not value < float("inf"):
        raise node.error(f"{what} must be a finite number")
    if value < least or (above and value == least):
        raise node.error(f"{what} must {'be above' if above else 'not be below'} {least:g}, not {value:g}")
    return value


def whole(node: Node, *, what: str, least: int = 0) -> int:
    if not node.is_scalar or isinstance(node.value, bool) or not isinstance(node.value, int):
        raise node.error(f"{what} must be a whole number, not {node.describe()}")
    if node.value < least:
        raise node.error(f"{what} must not be below {least}, not {node.value}")
    if node.value > LARGEST:
        raise node.error(f"{what} is more than there can be")
    return int(node.value)


def _quantity(node: Node, units: Mapping[str, float], *, what: str, example: str) -> float:
    if not node.is_scalar or node.value is None or isinstance(node.value, bool):
        raise node.error(f"a {what} such as `10{example}` is expected, not {node.describe()}")
    match = _NUMBER.fullmatch(node.text.strip())
    if match is None:
        raise node.error(f"`{node.text}` is no {what}", hint=f"write it as `10{example}`")
    value, unit = float(match[1]), match[2]
    if value < 0:
        raise node.error(
            f"a {what} cannot be negative: `{node.text}`", hint=f"write `{match[1].lstrip('-')}{unit or example}`"
        )
    if not unit:
        if value == 0:
            return 0.0
        raise node.error(f"the {what} `{node.text}` has no unit", hint=f"write `{node.text}{example}`")
    if unit not in units:
        raise node.error(f"`{unit}` is no unit of a {what}", hint="one of " + ", ".join(units))
    return value * units[unit]
