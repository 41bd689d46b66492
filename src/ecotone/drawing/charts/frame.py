"""What every chart stands in: an SVG as wide as its place, with room at the edges for labels.

The room is padding of the SVG's box, so that 100 % means the drawing's own width. Curves need numbers rather than
percentages: they go into `stretched`, an inner drawing a thousand units wide that is stretched to fit, except for its strokes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ecotone.drawing.charts.scale import Scale
from ecotone.drawing.html import Markup, element

UNITS = 1000.0


def across(place: float) -> str:
    """A share of the width as an attribute."""
    return f"{100.0 * place:.2f}".rstrip("0").rstrip(".") + "%"


def chart(
    *marks: object,
    height: float,
    label: str,
    top: int = 8,
    right: int = 14,
    bottom: int = 26,
    left: int = 52,
    hover: str | None = None,
) -> Markup:
    """The outer SVG. `label` is what a screen reader says; the numbers are in the table beside it."""
    style = f"height:{height + top + bottom:g}px;padding:{top}px {right}px {bottom}px {left}px"
    return element("svg", *marks, class_="chart", role="img", aria_label=label, style=style, data_hover=hover)


def stretched(*marks: object, height: float) -> Markup:
    return element(
        "svg", *marks, width="100%", height=height, viewBox=f"0 0 {UNITS:g} {height:g}", preserveAspectRatio="none",
        class_="stretched",
    )  # fmt: skip


def horizontal_grid(scale: Scale, *, height: float, labels: Iterable[tuple[float, str]]) -> list[Markup]:
    """Lines across at the y axis' values, labels left of them."""
    marks = []
    for value, text in labels:
        y = height * (1.0 - scale.at(value))
        marks.append(element("line", x1="0", x2="100%", y1=y, y2=y, class_="grid"))
        marks.append(element("text", text, x=-8, y=y + 4, class_="tick end"))
    return marks


def vertical_axis_labels(
    scale: Scale, *, height: float, labels: Sequence[tuple[float, str]], lines: bool = False
) -> list[Markup]:
    """Labels under the x axis; every second one gives way on a narrow screen."""
    marks = []
    for number, (value, text) in enumerate(labels):
        x = across(scale.at(value))
        if lines:
            marks.append(element("line", x1=x, x2=x, y1=0, y2=height, class_="grid"))
        wide = " wide" if len(labels) > 4 and (len(labels) - 1 - number) % 2 else ""
        marks.append(element("text", text, x=x, y=height + 18, class_=f"tick middle{wide}"))
    return marks


def path(points: Iterable[tuple[float, float] | None]) -> str:
    """Straight lines through places; None lifts the pen."""
    parts, down = [], False
    for point in points:
        if point is None:
            down = False
            continue
        parts.append(f"{'L' if down else 'M'}{_short(point[0])} {_short(point[1])}")
        down = True
    return "".join(parts)


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
