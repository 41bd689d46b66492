"""The page of flaky tests can be read, and speaks of tests that are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from fair.known import Known, known, row, unexplained

ROOT = Path(__file__).parents[2]


def test_every_row_of_the_page_names_a_test() -> None:
    for one in known():
        file, _, name = one.test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8"), one.test


def test_a_row_is_read_as_it_is_proposed(tmp_path: Path) -> None:
    page = tmp_path / "flaky.md"
    page.write_text(
        "# Title\n| test | date | cause |\n|---|---|---|\n" + row("tests/a.py::test_b[c d]", "2026-11-19") + "\n"
    )
    assert known(page) == [Known("tests/a.py::test_b[c d]", "2026-11-19", "")]
    assert unexplained(known(page), "tests/a.py::test_b[c d]")
    assert not unexplained(known(page), "tests/a.py::test_other")


def test_a_row_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "flaky.md"
    page.write_text("| `tests/a.py::test_b` | yesterday | busy |\n")
    with pytest.raises(ValueError, match="not a test, a date and a cause"):
        known(page)
