"""tests/flaky.md: tests that were late before and passed when asked again, each with its date and cause."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[1] / "flaky.md"
ROW = re.compile(r"^\| *`(?P<test>[^`]+)` *\| *(?P<date>\d{4}-\d{2}-\d{2}) *\|(?P<cause>.*)\|\s*$")


@dataclass(frozen=True)
class Known:
    test: str
    date: str
    cause: str
    """Empty while nobody knows it: then the test may not be late again."""


def known(page: Path = PAGE) -> list[Known]:
    """The page's rows; a row that cannot be read is an error, not a row less."""
    found = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            row = ROW.match(line)
            if row is None:
                raise ValueError(f"{page}: not a test, a date and a cause: {line}")
            found.append(Known(row["test"], row["date"], row["cause"].strip()))
    return found


def unexplained(rows: list[Known], test: str) -> bool:
    """Whether this test was late before and some row of it has no cause."""
    return any(row.test == test and not row.cause for row in rows)


def row(test: str, date: str) -> str:
    """What to add to the page about a test that was late for the first time."""
    return f"| `{test}` | {date} |  |"
