"""p95 per latency and contender as bars, with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ecotone.drawing.charts.frame import vertical_axis_labels
from ecotone.drawing.charts.rows import bar, span
from ecotone.drawing.charts.scale import from_zero
from ecotone.drawing.html import element
from ecotone.drawing.picture import picture, save

_ROW = 24


def p95_bars(summaries: Mapping[float, Sequence[Mapping[str, Any]]], path: Path) -> Path:
    rows = [
        (f"{latency:g} ms, {_short(each['policy'])}", each) for latency, found in summaries.items() for each in found
    ]
    highest = [max(each["p95_ci95"] or [each["p95_ms"] or 0.0]) for _, each in rows]
    scale = from_zero(highest)
    marks = []
    for number, (name, each) in enumerate(rows):
        middle, ends = each["p95_ms"] or 0.0, each["p95_ci95"]
        said = f"{name}: p95 {middle:.4g} ms" + (f", {ends[0]:.4g} to {ends[1]:.4g} ms" if ends else "")
        drawn = [bar(scale, 0.0, middle, y=4, height=_ROW - 8, class_="box f1", title=said)]
        if ends:
            drawn.append(span(scale, max(0.0, ends[0]), ends[1], y=_ROW / 2, class_="ink"))
        label = element("text", name, x=-10, y=_ROW / 2 + 4, class_="end")
        marks.append(element("g", label, drawn, transform=f"translate(0 {number * _ROW})"))
    height = _ROW * len(rows)
    axis = vertical_axis_labels(
        scale, height=height, labels=[(tick, f"{tick:g}") for tick in scale.ticks()], lines=True
    )
    title = "Sock Shop on six real nodes: p95"
    return save(picture(axis, marks, title=title, axis="p95, ms (line: 95 % interval)", height=height), path)


def _short(contender: str) -> str:
    """What runs beside kube-scheduler says enough, and there is room for it before the bar."""
    return contender.rpartition(" + ")[2]
