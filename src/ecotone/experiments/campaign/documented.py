"""Tables of documentation pages that come from stored results, so that none can outlive the code that produced it.

A page marks the place: `<!-- table FILE NUMBER -->` up to `<!-- /table -->`. FILE is what `ecotone experiment -o json` printed,
kept in docs/results, and NUMBER which of its tables, from 0. `<!-- notes FILE -->` up to `<!-- /notes -->` shows what the
experiment says about itself. `filled` writes what the files say; a test holds every page against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MARK = re.compile(r"(<!-- (table|notes) ([\w.-]+)(?: (\d+))? -->\n).*?(<!-- /(?:table|notes) -->)", re.DOTALL)


def filled(page: str, results: Path) -> str:
    """The page with every marked place as the stored results have it."""

    def one(found: re.Match[str]) -> str:
        begin, kind, file, number, end = found.groups()
        result = json.loads((results / file).read_text(encoding="utf-8"))
        text = markdown(result["tables"][int(number or 0)]) if kind == "table" else notes(result)
        return f"{begin}{text}\n{end}"

    return _MARK.sub(one, page)


def markdown(table: Mapping[str, Any]) -> str:
    rows = [table["header"], ["---"] * len(table["header"]), *table["rows"]]
    return "\n".join("| " + " | ".join("" if cell is None else str(cell) for cell in row) + " |" for row in rows)


def notes(result: Mapping[str, Any]) -> str:
    return "\n".join(f"* {note}" for note in result["notes"])


def compact(result: Mapping[str, Any]) -> str:
    """What is stored of a result: tables and notes, a row a line."""
    tables = [{"title": table["title"], "header": table["header"], "rows": table["rows"]} for table in result["tables"]]
    kept = {"experiment": result["experiment"], "notes": result["notes"], "tables": tables}
    return re.sub(r"\n {5,}", " ", json.dumps(kept, indent=1, ensure_ascii=False)) + "\n"
