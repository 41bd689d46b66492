"""What a chart hands to the page's few lines of script, so that pointing at it reads out the values there."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ecotone.drawing.charts.line import Line
from ecotone.drawing.charts.scale import Scale
from ecotone.drawing.numbers import three_digits


def hover(x: Scale, drawn: Sequence[Line], *, head: Sequence[str], unit: str = "ms") -> str:
    """A chart's `hover`. `head` names each distinct x, in rising order."""
    places = sorted({point.x for line in drawn for point in line.points})
    values = []
    for line in drawn:
        known = {point.x: three_digits(point.y) for point in line.points if point.y is not None}
        values.append({"name": line.name, "slot": line.slot, "at": [known.get(place) for place in places]})
    data = {"x": [round(x.at(place), 4) for place in places], "head": list(head), "lines": values, "unit": unit}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
