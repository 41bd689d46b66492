"""`simulate --set PATH=V1,V2,...`: the same scenario with some of its values replaced, all combinations of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from ecotone.model.errors import InputError

MOST = 200

Values = dict[str, str]


def variants(given: Sequence[str]) -> list[Values]:
    """Every combination, in the order in which they were given."""
    axes: list[list[tuple[str, str]]] = []
    for each in given:
        path, sign, values = each.partition("=")
        chosen = [value.strip() for value in values.split(",")]
        if not sign or not path or not all(chosen):
            raise InputError(f"--set {each}: not a setting", hint="write it like network.default.rtt=10ms,50ms,100ms")
        if path in (axis[0][0] for axis in axes):
            raise InputError(f"--set {path}: given twice", hint="write all values after one sign, with commas")
        axes.append([(path, value) for value in dict.fromkeys(chosen)])
    count = prod(len(axis) for axis in axes)
    if count > MOST:
        raise InputError(f"--set gives {count} variants, more than {MOST}")
    return [dict(chosen) for chosen in product(*axes)]


def plain(text: str) -> object:
    """A value as a scenario file would have it."""
    from ecotone.manifests.yaml.positions import resolve

    return resolve(text)


def named(values: Values) -> str:
    """In a few letters: the last step of each path, and its value."""
    return ", ".join(f"{path.rpartition('.')[2]}={value}" for path, value in values.items())
