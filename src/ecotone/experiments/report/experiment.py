"""An experiment as a page of the same kind as a simulation's: its tables, its charts, its data, and how to get them again.

Whatever an experiment gives (tables with the published figures beside ours, sentences on the differences, charts) is on one
page that needs no other file; pages of single runs are linked.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ecotone
from ecotone.drawing.html import Markup, element
from ecotone.drawing.tables import table
from ecotone.experiments.campaign.registry import Cell, Result, Table
from ecotone.experiments.report.page import document
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.sections.footer import again, digest

_TITLE = re.compile(r"<title>([^<]*)</title>")


def as_data(result: Result) -> dict[str, Any]:
    """What `experiment -o json` prints."""
    return {
        "experiment": result.name,
        "tables": [
            {"title": each.title, "header": list(each.header), "rows": [list(row) for row in each.rows]}
            for each in result.tables
        ],
        "notes": list(result.notes),
        "figures": dict(result.figures),
    }


def write_experiment(result: Result, directory: Path, *, summary: str, command: str) -> Path:
    """Write `index.html` into the directory (made if missing) and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "index.html"
    data = as_data(result)
    sections = [
        _further(result.plots, directory),
        [_table(each) for each in result.tables],
        [_chart(each) for each in result.plots if each.suffix == ".svg"],
        _notes(result.notes),
    ]
    body = [
        element(
            "header",
            element("p", element("span", "ecotone", class_="mark"), " experiment", class_="over"),
            element("h1", result.name),
            element("p", summary, class_="description"),
        ),
        element("main", sections, id="figures"),
        _footer(result.name, command, data),
    ]
    path.write_text(document(result.name, body, data), encoding="utf-8", newline="\n")
    return path


def _table(given: Table) -> Markup:
    words = any(isinstance(cell, str) and len(cell) > 40 for row in given.rows for cell in row)
    rows = [[_shown(cell) for cell in row] for row in given.rows]
    return card(
        given.title, table(list(given.header), rows, caption=given.title, class_="words" if words else "figures")
    )


def _shown(cell: Cell) -> str:
    return "–" if cell is None else str(cell)


def _chart(path: Path) -> Markup:
    """The file itself as a picture: its style is its own and touches nothing else on the page."""
    text = path.read_text(encoding="utf-8")
    found = _TITLE.search(text)
    title = path.stem if found is None else found[1]
    source = "data:image/svg+xml;base64," + b64encode(text.encode()).decode()
    return card(title, element("img", src=source, alt=title, class_="plot"))


def _further(paths: Sequence[Path], directory: Path) -> Markup | None:
    pages = [each for each in paths if each.name == "index.html"]
    if not pages:
        return None
    links = [
        element("li", element("a", each.parent.name, href=os.path.relpath(each, directory).replace(os.sep, "/")))
        for each in pages
    ]
    return card("Single runs in detail", element("ul", links))


def _notes(notes: Sequence[str]) -> Markup | None:
    return (
        card("What to know about these figures", element("ul", [element("li", each) for each in notes]))
        if notes
        else None
    )


def _footer(name: str, command: str, data: Mapping[str, Any]) -> Markup:
    facts = [("Experiment", name), ("Version", f"ecotone {ecotone.__version__}"), ("Figures", f"sha256 {digest(data)}")]
    return again(facts, command, sentence="This command runs it again:")
