"""Lines with bands: one line per policy, over time or over users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ecotone.drawing.charts.frame import UNITS, across, path, stretched
from ecotone.drawing.charts.scale import Scale
from ecotone.drawing.html import Markup, element


@dataclass(frozen=True, slots=True)
class Point:
    """A value with the interval around it, if there is one; without a value the line breaks."""

    x: float
    y: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    slot: int  # of the palette
    points: Sequence[Point]


def lines(drawn: Sequence[Line], *, x: Scale, y: Scale, height: float, markers: bool) -> list[Markup]:
    """Bands first, so that no band hides a line; later lines thinner, so that of two equal ones both are seen."""
    curves = [_band(line, x, y, height) for line in drawn]
    widths = [2.0 + 0.9 * min(2, len(drawn) - 1 - place) for place in range(len(drawn))]
    curves += [_curve(line, x, y, height, width=width) for line, width in zip(drawn, widths, strict=True)]
    marks = [stretched(curves, height=height)]
    if markers:
        marks += [_marker(line, point, x, y, height) for line in drawn for point in line.points if point.y is not None]
    return marks


def same(drawn: Sequence[Line]) -> str:
    """A sentence on lines that lie on each other from end to end, as only one of them can be seen."""
    groups: dict[tuple[Point, ...], list[str]] = {}
    for line in drawn:
        groups.setdefault(tuple(line.points), []).append(line.name)
    return "".join(
        f" {', '.join(names[:-1])} and {names[-1]} share a line." for names in groups.values() if len(names) > 1
    )


def _curve(line: Line, x: Scale, y: Scale, height: float, *, width: float) -> Markup:
    places = [
        None if point.y is None else (UNITS * x.at(point.x), height * (1.0 - y.at(point.y))) for point in line.points
    ]
    return element("path", d=path(places), class_=f"curve s{line.slot}", stroke_width=width)


def _band(line: Line, x: Scale, y: Scale, height: float) -> Markup | None:
    """One closed shape per stretch of points that have an interval."""
    shapes: list[str] = []
    stretch: list[tuple[float, float, float]] = []
    for point in [*line.points, Point(0.0, None)]:
        if point.low is not None and point.high is not None:
            places = (1.0 - y.at(point.low), 1.0 - y.at(point.high))
            stretch.append((UNITS * x.at(point.x), height * places[0], height * places[1]))
        elif stretch:
            there = [(place, low) for place, low, _ in stretch]
            back = [(place, high) for place, _, high in reversed(stretch)]
            shapes.append(path([*there, *back]) + "Z")
            stretch = []
    return element("path", d="".join(shapes), class_=f"band f{line.slot}") if shapes else None


def _marker(line: Line, point: Point, x: Scale, y: Scale, height: float) -> Markup:
    assert point.y is not None
    place = height * (1.0 - y.at(point.y))
    return element("circle", cx=across(x.at(point.x)), cy=place, r=3.5, class_=f"marker f{line.slot}")
