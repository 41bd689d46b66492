"""A grid of pairs: from what in the rows, to what in the columns, the more the darker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ecotone.drawing.charts.frame import across, chart
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import shortened

_ROW = 24
_TOP = 64
_LETTERS = 9


def heatmap(
    names: Sequence[str],
    values: Mapping[tuple[str, str], float],
    said: Mapping[tuple[str, str], str],
    *,
    label: str,
    class_: str,
) -> Markup:  # fmt: skip
    """`values` are shades from 0 to 1, `said` what pointing at a pair tells and, in short, what stands in it."""
    wide = 1.0 / len(names)
    marks: list[object] = []
    for row, origin in enumerate(names):
        title = element("title", origin)
        marks.append(
            element("text", shortened(origin, 12), title, x=-8, y=row * _ROW + _ROW / 2 + 4, class_="name small end")
        )
        for column, target in enumerate(names):
            shade = values.get((origin, target))
            text = said.get((origin, target), f"{origin} → {target}: nothing")
            marks.append(
                element(
                    "rect", element("title", text), x=across(column * wide), y=row * _ROW, width=across(wide), height=_ROW,
                    class_=f"cell {class_}" if shade is not None else "cell empty",
                    fill_opacity=None if shade is None else f"{0.12 + 0.88 * shade:.2f}",
                )
            )  # fmt: skip
    for column, target in enumerate(names):
        name = element(
            "text", shortened(target, _LETTERS), element("title", target), transform="rotate(-45)", class_="tick"
        )
        marks.append(element("svg", name, x=across((column + 0.5) * wide), y=-6, width=1, height=1, overflow="visible"))
    return chart(marks, height=_ROW * len(names), label=label, top=_TOP, left=88, right=40, bottom=8)
