"""The 95th percentile over the values of a parameter: a curve per policy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ecotone.drawing.html import Markup
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.curves.over_users import curves

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def over_values(sweep: Sequence[Mapping[str, Any]], policies: Sequence[Policy]) -> Markup | None:
    """`sweep` has an entry per variant: {"set": {path: value}, "name": text, "summary": [...]}."""
    if not sweep:
        return None
    paths = list(sweep[0].get("set") or ())
    names = [str(entry.get("name", "")) for entry in sweep]
    values = [str((entry.get("set") or {}).get(paths[0], "")) for entry in sweep] if len(paths) == 1 else names
    places = _places(values)
    entries = [{"users": place, "summary": entry.get("summary")} for place, entry in zip(places, sweep, strict=True)]
    what = paths[0] if len(paths) == 1 else "the variants"
    return curves(
        entries, policies, names=dict(zip(places, values, strict=True)), title=f"Over {what}",
        reading=f"95th percentile of the response time in milliseconds over {what}",
    )  # fmt: skip


def _places(values: Sequence[str]) -> list[float]:
    """The values' own numbers where all have one unit and differ; their order otherwise."""
    found = [_NUMBER.match(value) for value in values]
    units = {value[match.end() :] for value, match in zip(values, found, strict=True) if match is not None}
    if all(match is not None for match in found) and len(units) == 1:
        numbers = [float(match[0]) for match in found if match is not None]
        if len(set(numbers)) == len(numbers):
            return numbers
    return [float(place) for place in range(len(values))]
