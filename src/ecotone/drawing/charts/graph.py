"""A graph of boxes and curves, from left to right.

Unlike the other charts it has a size of its own, at which its letters are as large as the page's: on a narrow screen it
scrolls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ecotone.drawing.html import Markup, element
from ecotone.drawing.layout import Edge, Layout, layered
from ecotone.drawing.numbers import shortened

_BOX = (112, 30)
_COLUMN = 158
_ROW = 42


@dataclass(frozen=True, slots=True)
class Box:
    name: str
    label: str
    title: str
    class_: str = "box"


@dataclass(frozen=True, slots=True)
class Curve:
    ends: Edge
    width: float
    title: str
    dashed: bool = False


def graph(boxes: Sequence[Box], curves: Sequence[Curve], *, label: str) -> Markup:
    layout = layered([box.name for box in boxes], [curve.ends for curve in curves])
    width = _COLUMN * (layout.layers - 1) + _BOX[0] + 8
    height = _ROW * layout.rows + 4
    tip = element(
        "marker", element("path", d="M0 0L8 4L0 8z", class_="tip"), id="tip", viewBox="0 0 8 8", refX=7, refY=4,
        markerWidth=7, markerHeight=7, markerUnits="userSpaceOnUse", orient="auto",
    )  # fmt: skip
    drawn = [_curve(curve, layout) for curve in curves if curve.ends[0] != curve.ends[1]]
    picture = element(
        "svg", element("defs", tip), drawn, [_box(box, layout) for box in boxes], class_="graph", role="img", aria_label=label,
        viewBox=f"0 0 {width:g} {height:g}", style=f"width:100%;max-width:{width:g}px;min-width:{0.8 * width:g}px",
    )  # fmt: skip
    return element("div", picture, class_="scroll", tabindex=0, role="region", aria_label=label)


def _centre(place: tuple[int, float]) -> tuple[float, float]:
    return 4 + _BOX[0] / 2 + _COLUMN * place[0], 2 + _ROW * (place[1] + 0.5)


def _box(box: Box, layout: Layout) -> Markup:
    x, y = _centre(layout.places[box.name])
    frame = element("rect", x=x - _BOX[0] / 2, y=y - _BOX[1] / 2, width=_BOX[0], height=_BOX[1], rx=7)
    text = element("text", shortened(box.label, 17), x=x, y=y + 4, class_="middle")
    return element("g", element("title", box.title), frame, text, class_=box.class_)


def _curve(curve: Curve, layout: Layout) -> Markup:
    places = [_centre(place) for place in layout.ways[curve.ends]]
    (x, y), (end_x, end_y) = places[0], places[-1]
    half = _BOX[0] / 2
    if x == end_x:  # members of a cycle: around the right-hand side
        way = f"M{x + half:g} {y:g}C{x + half + 40:g} {y:g} {x + half + 40:g} {end_y:g} {x + half + 4:g} {end_y:g}"
    else:
        stops = [(x + half, y), *places[1:-1], (end_x - half - 2, end_y)]
        way = f"M{stops[0][0]:g} {stops[0][1]:g}"
        for (from_x, from_y), (to_x, to_y) in pairwise(stops):
            bend = (to_x - from_x) / 2
            way += f"C{from_x + bend:g} {from_y:g} {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"
    dash = "6 4" if curve.dashed else None
    return element(
        "path", element("title", curve.title), d=way, class_="edge", stroke_width=curve.width, stroke_dasharray=dash,
        marker_end="url(#tip)",
    )  # fmt: skip
