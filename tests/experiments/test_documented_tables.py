"""Every table of the documentation that names a stored result is the one that result gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ecotone.experiments.campaign.documented import compact, filled

DOCS = Path(__file__).parents[2] / "docs"
RESULT = {
    "experiment": "x",
    "notes": ["as said"],
    "tables": [{"title": "t", "header": ["a", "b"], "rows": [[1, None], ["x", 2.5]]}],
    "figures": {"dropped": 1},
}


@pytest.mark.parametrize("page", sorted(each.name for each in DOCS.glob("*.md")))
def test_the_page_shows_what_is_stored(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert filled(text, DOCS / "results") == text


def test_a_place_is_filled_from_its_file_and_the_rest_is_left(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(compact(RESULT))
    page = (
        "before\n<!-- table x.json 0 -->\nold\n<!-- /table -->\nbetween\n<!-- notes x.json -->\n<!-- /notes -->\nafter"
    )
    expected = (
        "before\n<!-- table x.json 0 -->\n| a | b |\n| --- | --- |\n| 1 |  |\n| x | 2.5 |\n<!-- /table -->\nbetween\n"
        "<!-- notes x.json -->\n* as said\n<!-- /notes -->\nafter"
    )
    assert filled(page, tmp_path) == expected


def test_what_is_stored_is_the_tables_and_the_notes() -> None:
    kept = json.loads(compact(RESULT))
    assert kept == {key: RESULT[key] for key in ("experiment", "notes", "tables")}
