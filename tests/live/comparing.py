"""Whether annotations say the same: names exactly, numbers within what measuring a second more changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ecotone.manifests import keys
from ecotone.model.errors import InputError
from ecotone.model.quantity import parse

Written = Mapping[str, Mapping[str, str]]
CLOSE = 0.15
"""Twice the dead band, and what a scrape more or less makes in a window of six."""


def differences(before: Written, after: Written) -> list[str]:
    """What is said otherwise, object by object."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, {}), after.get(name, {})
        found += [
            f"{name}: {key} was {old.get(key)}, is {new.get(key)}"
            for key in sorted((old.keys() | new.keys()) - {keys.MEASURED_AT})
            if not _alike(_value(old.get(key)), _value(new.get(key)))
        ]
    return found


def _value(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return float(parse(text))
    except InputError:
        return text


def _alike(old: Any, new: Any) -> bool:
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_alike(old[name], new[name]) for name in old)
    if isinstance(old, int | float) and isinstance(new, int | float):
        return abs(old - new) <= CLOSE * max(abs(old), abs(new))
    return bool(old == new)
