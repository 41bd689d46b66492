"""Charts that are lists: a row per thing, its name at the left, a common axis below.

Names keep their size and the axis takes what is left, which is why these work on a telephone where columns would not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecotone.drawing.charts.frame import across, chart, vertical_axis_labels
from ecotone.drawing.charts.scale import Scale
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import shortened

MOST_LETTERS = 20
_LEAST_ROOM = 104
_LETTER = 7.6  # pixels, in the widest of the usual fonts


@dataclass(frozen=True, slots=True)
class Row:
    """`marks` are placed with y = 0 at the row's top."""

    name: str
    marks: Sequence[object]
    detail: str = ""  # said when pointing at the name


def rows(
    drawn: Sequence[Row], *, scale: Scale, axis: Sequence[tuple[float, str]], row_height: int, label: str, right: int = 14,
) -> Markup:  # fmt: skip
    """Names have the room they need, up to `MOST_LETTERS`."""
    height = row_height * len(drawn)
    marks: list[object] = [vertical_axis_labels(scale, height=height, labels=axis, lines=True)]
    for number, row in enumerate(drawn):
        name = element(
            "text", shortened(row.name, MOST_LETTERS), element("title", row.detail or row.name), x=-10, y=row_height / 2 + 4,
            class_="name end",
        )  # fmt: skip
        marks.append(element("g", name, row.marks, transform=f"translate(0 {number * row_height})"))
    return chart(marks, height=height, label=label, left=_room(drawn), right=right, top=4)


def _room(drawn: Sequence[Row]) -> int:
    longest = max((min(MOST_LETTERS, len(row.name)) for row in drawn), default=0)
    return max(_LEAST_ROOM, 14 + round(_LETTER * longest))


def bar(scale: Scale, low: float, high: float, *, y: float, height: float, class_: str, title: str) -> Markup:
    start, end = scale.at(low), scale.at(high)
    return element(
        "rect", element("title", title), x=across(start), width=across(max(0.0, end - start)), y=y, height=height,
        class_=class_,
    )  # fmt: skip


def span(scale: Scale, low: float, high: float, *, y: float, class_: str) -> Markup:
    return element("line", x1=across(scale.at(low)), x2=across(scale.at(high)), y1=y, y2=y, class_=class_)


def dot(scale: Scale, value: float, *, y: float, class_: str, title: str, radius: float = 5.0) -> Markup:
    return element("circle", element("title", title), cx=across(scale.at(value)), cy=y, r=radius, class_=class_)
