"""A chart as a file of its own: an SVG with its colours, title and margins in it, for papers and slides.

On a page the style sheet colours a chart and its box keeps room for labels. A file has neither, so this puts the same marks
into an inner drawing with margins around it and carries the few rules they need.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ecotone.drawing import palette
from ecotone.drawing.charts.legend import swatch
from ecotone.drawing.html import Markup, element

INK, FAINT, ACCENT = "#22313f", "#d5d9e0", "#a80a3c"
_RULES = f"""
text{{font:12px system-ui,sans-serif;fill:{INK}}}.title{{font-size:15px;font-weight:600}}
.end{{text-anchor:end}}.middle{{text-anchor:middle}}
.grid{{stroke:{FAINT}}}.limit{{stroke:{ACCENT};stroke-dasharray:5 4}}.ink{{stroke:{INK};fill:none}}.dot{{fill:{INK}}}
.hollow{{fill:#ffffff;stroke-width:2}}.box{{stroke:{INK};fill-opacity:.45}}.median{{stroke:{ACCENT};stroke-width:2.5}}
.curve{{fill:none;vector-effect:non-scaling-stroke}}
"""


def picture(
    *marks: object,
    title: str,
    axis: str,
    width: int = 760,
    height: float,
    left: int = 180,
    legend: Sequence[tuple[str, str]] = (),
) -> str:
    """The text of an SVG file. `marks` are those of a chart `height` high; `axis` says what its horizontal axis shows."""
    top, right, bottom = 44, 24, 64 + (24 if legend else 0)
    style = element("style", Markup(_RULES + palette.file_style()))
    inner = element("svg", *marks, x=left, y=top, width=width - left - right, height=height, overflow="visible")
    text = [
        element("text", title, x=16, y=26, class_="title"),
        element("text", axis, x=left + (width - left - right) / 2, y=top + height + 40, class_="middle"),
    ]
    entries = []
    for number, (name, colour) in enumerate(legend):
        place = element("text", name, x=18, y=11)
        entries.append(
            element("g", swatch(colour), place, transform=f"translate({left + 190 * number} {top + height + 58:g})")
        )
    whole = top + height + bottom
    ground = element("rect", width=width, height=whole, fill="#ffffff")
    drawn = element(
        "svg", element("title", title), style, ground, text, inner, entries, xmlns="http://www.w3.org/2000/svg",
        width=width, height=whole, viewBox=f"0 0 {width} {whole:g}", role="img",
    )  # fmt: skip
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{drawn}\n'


def save(text: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
    return path
