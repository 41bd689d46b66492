"""Tables: every number of a chart, for those who read numbers or hear the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ecotone.drawing.html import Markup, element

MOST_ROWS = 200


def table(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str, class_: str | None = None
) -> Markup:
    """The first column names the row, the others are figures. A table too wide scrolls within itself."""
    drawn = list(rows)
    shown = drawn[:MOST_ROWS]
    head = element("tr", [element("th", cell, scope="col") for cell in header])
    body = [
        element("tr", element("th", row[0], scope="row"), [element("td", cell) for cell in row[1:]]) for row in shown
    ]
    more = len(drawn) - len(shown)
    note = element("p", f"{more} more rows are in the JSON.", class_="note") if more else None
    whole = element("table", element("caption", caption), element("thead", head), element("tbody", body), class_=class_)
    return element("div", whole, note, class_="scroll", tabindex=0, role="region", aria_label=caption)


def beside(
    header: Sequence[object], rows: Iterable[Sequence[object]], *, caption: str, name: str = "As a table"
) -> Markup:
    """A chart's table, folded away until wanted."""
    return element("details", element("summary", name), table(header, rows, caption=caption))
