"""Every move of the trial shown, with the policy's own reason for it."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.experiments.report.html import Markup, element
from ecotone.experiments.report.numbers import clock, count
from ecotone.experiments.report.reading import Policy
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.tables import table
from ecotone.experiments.report.timeline import moves


def moves_made(policies: Sequence[Policy]) -> Markup | None:
    tables = []
    for policy in policies:
        found = moves(policy.example)
        if not found:
            continue
        rows = [
            [
                clock(float(move["at"])),
                move.get("service", "–"),
                f"{move.get('from', '?')} → {move.get('to', '?')}",
                move.get("why", ""),
            ]
            for move in found
        ]
        caption = f"Moves under {policy.name}"
        head = [element("span", policy.name, class_=f"policy c{policy.slot}"), f": {count(len(found))} moves"]
        body = table(["time", "service", "from and to", "why"], rows, caption=caption, class_="words")
        tables.append(element("details", element("summary", head), body))
    if not tables:
        return None
    return card(
        "Moves and their reasons", tables, reading="The moves of the trial shown above, as the policy explained them."
    )
