"""Pictures of the Pogonip experiments: delays as boxes, applications deployed as bars, times as curves.

SVG files, with the delay bound as a line through every picture that shows delays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ecotone.drawing.charts.frame import across, horizontal_grid, vertical_axis_labels
from ecotone.drawing.charts.line import Line, Point, lines
from ecotone.drawing.charts.rows import bar, dot, span
from ecotone.drawing.charts.scale import Scale
from ecotone.drawing.html import Markup, element
from ecotone.drawing.picture import picture, save

_ROW = 34


def delay_boxes(delays: Mapping[str, np.ndarray], path: Path, *, title: str, bound: float) -> Path:
    """A box from the first to the third quartile, a line to the extremes, a bar at the median, a dot at the mean."""
    most = max(float(values.max()) for values in delays.values())
    step = 25.0 if most > 60.0 else 10.0
    scale = Scale(0.0, step * (int(max(most, bound) / step) + 1))
    marks = [_limit(scale, bound, rows=len(delays))]
    for number, (name, values) in enumerate(delays.items()):
        middle = _ROW / 2
        low, first, median, third, high = (float(np.quantile(values, q)) for q in (0.0, 0.25, 0.5, 0.75, 1.0))
        said = f"{name}: median {median:g} ms, mean {float(values.mean()):.4g} ms, {low:g} to {high:g} ms"
        at = across(scale.at(median))
        box = bar(scale, first, third, y=7, height=_ROW - 14, class_="box f1", title=said)
        mean = dot(scale, float(values.mean()), y=middle, class_="dot", title=said, radius=4)
        row = [span(scale, low, high, y=middle, class_="ink"), box]
        row += [element("line", x1=at, x2=at, y1=7, y2=_ROW - 7, class_="median"), mean]
        marks.append(_row(name, number, row))
    axis = f"delay between microservice and queue, ms (bound {bound:g} ms; dot: mean, bar: median)"
    return save(picture(_axis(scale, len(delays)), marks, title=title, axis=axis, height=_ROW * len(delays)), path)


def deployed_bars(apps: Mapping[str, Sequence[int]], path: Path, *, submitted: int = 8) -> Path:
    scale = Scale(0.0, submitted + 0.6)
    marks = [_limit(scale, submitted, rows=len(apps))]
    for number, (name, counts) in enumerate(apps.items()):
        mean, said = float(np.mean(counts)), f"{name}: mean {np.mean(counts):.3g}, {min(counts)} to {max(counts)}"
        drawn = bar(scale, 0.0, mean, y=7, height=_ROW - 14, class_="box f1", title=said)
        marks.append(
            _row(name, number, [drawn, span(scale, min(counts), max(counts), y=_ROW / 2, class_="ink")])
        )  # fmt: skip
    title = f"Applications deployed of {submitted} submitted (Fig. 4)"
    axis = "applications deployed as a whole: mean, fewest and most over the runs"
    return save(picture(_axis(scale, len(apps)), marks, title=title, axis=axis, height=_ROW * len(apps)), path)


@dataclass(frozen=True, slots=True)
class Timed:
    """How long a cluster of so many nodes took; `ended` is false where the time limit came first."""

    nodes: float
    seconds: float
    ended: bool = True


def scaling_curves(curves: Mapping[str, Sequence[Timed]], path: Path) -> Path:
    """Filled points ended by themselves; hollow ones ran into the limit, so their height says nothing."""
    points = [point for curve in curves.values() for point in curve]
    x = _decades([point.nodes for point in points])
    y = _decades([point.seconds for point in points])
    height = 320.0
    drawn = [
        Line(name, slot, [Point(each.nodes, each.seconds) for each in sorted(curve, key=lambda each: each.nodes)])
        for slot, (name, curve) in enumerate(curves.items())
    ]
    stopped = [
        element(
            "circle",
            element("title", f"{name}: stopped by the time limit at {each.nodes:g} nodes"),
            r=4,
            cx=across(x.at(each.nodes)),
            cy=height * (1.0 - y.at(each.seconds)),
            class_=f"hollow s{slot}",
        )
        for slot, (name, curve) in enumerate(curves.items())
        for each in curve
        if not each.ended
    ]
    marks = [
        horizontal_grid(y, height=height, labels=[(tick, f"{tick:g} s") for tick in y.ticks()]),
        vertical_axis_labels(x, height=height, labels=[(tick, f"{tick:g}") for tick in x.ticks()], lines=True),
        lines(drawn, x=x, y=y, height=height, markers=True),
        stopped,
    ]
    axis = "edge nodes" + (" (hollow: stopped by the time limit)" if stopped else "")
    legend = [(line.name, f"f{line.slot}") for line in drawn]
    return save(
        picture(marks, title="Time to place everything", axis=axis, height=height, left=80, width=900, legend=legend),
        path,
    )


def _decades(values: Sequence[float]) -> Scale:
    """Logarithmic, from the power of ten below everything to the one above."""
    low, high = min(values), max(values)
    return Scale(10.0 ** np.floor(np.log10(low)), 10.0 ** np.ceil(np.log10(high * 1.001)), logarithmic=True)


def _axis(scale: Scale, rows: int) -> list[Markup]:
    return vertical_axis_labels(
        scale, height=_ROW * rows, labels=[(tick, f"{tick:g}") for tick in scale.ticks()], lines=True
    )


def _limit(scale: Scale, value: float, *, rows: int) -> Markup:
    at = across(scale.at(value))
    return element("line", x1=at, x2=at, y1=0, y2=_ROW * rows, class_="limit")


def _row(name: str, number: int, marks: Sequence[Markup]) -> Markup:
    label = element("text", name, x=-10, y=_ROW / 2 + 4, class_="end")
    return element("g", label, marks, transform=f"translate(0 {number * _ROW})")
