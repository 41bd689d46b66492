"""Tables for people: as wide as the screen allows, and the same rows as CSV.

A pipe gets whole lines. On a screen that is too narrow, long texts wrap between words first; then columns are left out from
the right, and a note says which: half a name is worse than none. Only where not even the first two have room (an action without
its pod says nothing) is a name shortened. Names come from outside, and whatever would steer a
terminal is written out before it gets there.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ecotone.cli.terminal.safe import printable

Cell = str | Text
UNBOUNDED = 100_000
_GAP = 1
_SHORTEST = 12
_TEXT = 24  # a text column may be wrapped down to this, or to its longest word


def as_csv(headers: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Plain cells, quoted where they must be."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([header or "-" for header in headers])
    writer.writerows([_plain(cell) for cell in row] for row in rows)
    return out.getvalue()


def drawn(
    headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, right: Sequence[int], width: int
) -> tuple[str, list[str]]:
    """The lines of the table at this width, and the headers that found no room."""
    cells = _shortened(headers, [[_safe(cell) for cell in row] for row in rows], width=width)
    kept = fitting(headers, cells, right=right, width=width)
    table = Table(box=None, pad_edge=False, padding=(0, _GAP), header_style="bold")
    natural = [_width(index, headers, cells) for index in range(len(headers))]
    free = sum(natural[index] + 2 * _GAP for index in kept) <= width
    for index in kept:
        figures = index in right
        fixed = free or figures or natural[index] <= _TEXT
        table.add_column(
            printable(headers[index]), justify="right" if figures else "left", no_wrap=fixed, overflow="fold",
            min_width=min(natural[index], width) if fixed else None,
        )  # fmt: skip
    for row in cells:
        table.add_row(*(row[index] for index in kept))
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    text = "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
    return text, [headers[index] for index in range(len(headers)) if index not in kept]


def _shortened(headers: Sequence[str], rows: list[list[Text]], *, width: int) -> list[list[Text]]:
    """The rows, with names cut so that the first two columns have room beside each other."""
    if len(headers) < 2:
        return rows
    room = width - min(_width(0, headers, rows), width // 2) - 2 * _GAP
    if room < _SHORTEST or _least(1, headers, rows, figures=False) <= room:
        return rows
    for row in rows:
        if any(cell_len(word) > room for word in row[1].plain.split()):
            row[1].truncate(room, overflow="ellipsis")
    return rows


def fitting(headers: Sequence[str], rows: Sequence[Sequence[Cell]], *, right: Sequence[int], width: int) -> list[int]:
    """The columns that have room beside each other: the first always, the others from the left."""
    least = [_least(index, headers, rows, figures=index in right) for index in range(len(headers))]
    kept = list(range(len(headers)))
    while len(kept) > 1 and sum(least[index] + 2 * _GAP for index in kept) - 2 * _GAP > width:
        kept.pop()
    return kept


def _least(index: int, headers: Sequence[str], rows: Sequence[Sequence[Cell]], *, figures: bool) -> int:
    natural = _width(index, headers, rows)
    if figures or natural <= _TEXT:
        return natural
    words = [word for row in rows for word in _plain(row[index]).split()] + [headers[index]]
    return max(_TEXT, *(cell_len(word) for word in words))


def _width(index: int, headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> int:
    return max([cell_len(headers[index]), *(cell_len(_plain(row[index])) for row in rows)])


def _plain(cell: Cell) -> str:
    return cell.plain if isinstance(cell, Text) else cell


def _safe(cell: Cell) -> Text:
    return Text(printable(cell.plain), style=cell.style) if isinstance(cell, Text) else Text(printable(cell))
