"""Legends. A policy's entry is a button that hides it and brings it back, in every chart of its figure."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.html import Markup, element


def policy_legend(names: Sequence[tuple[str, int]], *, toggles: bool = False) -> Markup | None:
    if len(names) < 2:
        return None
    if not toggles:
        return legend([(name, f"f{slot}") for name, slot in names])
    entries = [
        element("button", swatch(f"f{slot}"), name, type="button", aria_pressed="true", data_slot=slot)
        for name, slot in names
    ]
    return element("div", entries, class_="legend", role="group", aria_label="Show or hide policies")


def legend(entries: Sequence[tuple[str, str]]) -> Markup:
    """Names with the class that colours them."""
    return element("ul", [element("li", swatch(colour), name) for name, colour in entries], class_="legend")


def swatch(colour: str) -> Markup:
    dot = element("rect", width=12, height=12, rx=3, class_=colour)
    return element("svg", dot, width=12, height=12, aria_hidden="true", class_="swatch")
