"""The documented table of replicated applications is the one that the stored result gives."""

from __future__ import annotations

from pathlib import Path

from ecotone.experiments.campaign.quality import quality_table

ROOT = Path(__file__).parents[2]


def test_the_documented_table_is_that_of_the_stored_result() -> None:
    page = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- quality -->\n")[2].partition("\n<!-- /quality -->")[0]
    assert shown == quality_table(ROOT / "docs" / "results" / "quality.json")
