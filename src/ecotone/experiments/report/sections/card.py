"""The frame of a section: a heading, a sentence on how to read it, and what it shows."""

from __future__ import annotations

from ecotone.drawing.html import Markup, element


def card(title: str, *content: object, reading: object = None) -> Markup:
    lead = element("p", reading, class_="reading") if reading else None
    return element("section", element("h2", title), lead, *content, class_="card")
