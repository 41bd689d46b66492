"""Tables: every number of a chart, for those who read numbers or hear the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from ecotone.drawing.html import Markup, element

MOST_ROWS = 200


def table(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str, class_: str | None = None
) -> Markup:
    """The first column names the row, the others are figures, and know their column's name for where rows are stacked."""
    drawn = list(rows)
    shown = drawn[:MOST_ROWS]
    head = element("tr", [element("th", cell, scope="col") for cell in header])
    body = [element("tr", element("th", row[0], scope="row"), _figures(header, row)) for row in shown]
    more = len(drawn) - len(shown)
    note = element("p", f"{more} more rows are in the JSON.", class_="note") if more else None
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", body), class_=class_)
    return element("div", whole, note, class_="scroll", tabindex=0, role="region", aria_label=caption)


def _figures(header: Sequence[object], row: Sequence[object]) -> list[Markup]:
    names = [name if isinstance(name, str) else None for name in header[1:]]
    return [element("td", cell, data_of=name) for name, cell in zip_longest(names, row[1:])]


def beside(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str, name: str = "As a table"
) -> Markup:
    """A chart's table, folded away until wanted."""
    return element("details", element("summary", name), table(header, rows, caption=caption))
