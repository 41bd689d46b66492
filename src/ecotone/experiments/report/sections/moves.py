"""Every bind and every move of the trial shown, with the policy's own reason for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import clock, count, number
from ecotone.drawing.tables import table
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.timeline import moves


def decisions(policies: Sequence[Policy]) -> Markup | None:
    tables = []
    for policy in policies:
        moved, bound = moves(policy.example), _binds(policy.example)
        if not moved and not bound:
            continue
        rows = [(float(each["at"]), 0, _move(each)) for each in moved] + [
            (float(each["at"]), 1, _bind(each)) for each in bound
        ]
        rows.sort(key=lambda each: each[:2])
        head = [
            element("span", policy.name, class_=f"policy c{policy.slot}"),
            f": {_counted(bound, 'bind')}, {_counted(moved, 'move')}",
        ]
        header = ["time", "what", "pod", "node", "why"]
        body = table(header, [row for _, _, row in rows], caption=f"Decisions of {policy.name}", class_="words")
        tables.append(element("details", element("summary", head), body))
    if not tables:
        return None
    reading = "Every bind and every move of the trial shown above, as the policy explained it."
    return card("Every decision and its reason", tables, reading=reading)


def _counted(found: Sequence[object], noun: str) -> str:
    return f"{count(len(found))} {noun}{'' if len(found) == 1 else 's'}"


def _binds(run: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    return [each for each in (run or {}).get("binds") or () if number(each.get("at")) is not None]


def _bind(each: Mapping[str, Any]) -> list[object]:
    return [clock(float(each["at"])), "bind", each.get("pod", "–"), each.get("node", "?"), each.get("why", "")]


def _move(each: Mapping[str, Any]) -> list[object]:
    where = f"{each.get('from', '?')} → {each.get('to', '?')}"
    return [clock(float(each["at"])), "move", each.get("pod", each.get("service", "–")), where, each.get("why", "")]
