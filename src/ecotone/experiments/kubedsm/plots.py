"""Counted latency per scenario and policy as bars, with the extremes over the trials."""

from __future__ import annotations

from pathlib import Path

from ecotone.drawing.charts.frame import vertical_axis_labels
from ecotone.drawing.charts.rows import bar, span
from ecotone.drawing.charts.scale import from_zero
from ecotone.drawing.html import element
from ecotone.drawing.picture import picture, save
from ecotone.experiments.kubedsm.tables import Figures, measures

_ROW = 24


def latency_bars(figures: Figures, path: Path, *, title: str) -> Path:
    values = {
        f"{scenario} {policy}": [each.mean_latency for each in measures(figures, scenario, policy)]
        for scenario, found in figures["scenarios"].items()
        for policy in found["policies"]
    }
    scale = from_zero([value for row in values.values() for value in row])
    marks = []
    for number, (name, row) in enumerate(values.items()):
        middle = sum(row) / len(row)
        said = f"{name}: mean {middle:.4g} ms, {min(row):.4g} to {max(row):.4g} ms"
        drawn = [
            bar(scale, 0.0, middle, y=4, height=_ROW - 8, class_="box f1", title=said),
            span(scale, min(row), max(row), y=_ROW / 2, class_="ink"),
        ]
        label = element("text", name, x=-10, y=_ROW / 2 + 4, class_="end")
        marks.append(element("g", label, drawn, transform=f"translate(0 {number * _ROW})"))
    height = _ROW * len(values)
    labels = [(tick, f"{tick:g}") for tick in scale.ticks()]
    axis = vertical_axis_labels(scale, height=height, labels=labels, lines=True)
    return save(
        picture(axis, marks, title=title, axis="counted latency, ms (line: least and most)", height=height), path
    )
