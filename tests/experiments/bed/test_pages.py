"""The page on the test bed shows what is stored, and only that."""

from __future__ import annotations

import json
from pathlib import Path

from ecotone.experiments.bed.pages import NOTHING, PAGE, faults_table, filled

DOCS = Path(__file__).parents[3] / "docs"


def test_the_documented_tables_are_those_of_the_stored_results() -> None:
    page = (DOCS / PAGE).read_text(encoding="utf-8")
    assert page.count("<!-- testbed-") == 4
    assert page == filled(page, DOCS / "results"), "run: python -m ecotone.experiments.bed.pages docs"


def test_a_stored_result_replaces_the_old_table(tmp_path: Path) -> None:
    text = "before\n<!-- testbed-faults -->\nold\n<!-- /testbed-faults -->\nafter\n"
    assert filled(text, tmp_path) == text.replace("old", NOTHING)
    machine = {"cores": 2, "cpu": "any", "memory_gib": 4, "kernel": "6", "load_average": 0.1}
    row = {
        "fault": "power cut", "node": "fog-1", "asked_seconds": 70.0, "settle_seconds": 40.0,
        "machine": machine, "lasted_seconds": 70.5, "requests": 10, "failed": 1, "unserved_seconds": 2.5,
        "pods_moved": 1, "sent_there": 0, "converged_seconds": None, "mean_before_ms": 40.0, "mean_after_ms": None,
    }  # fmt: skip
    (tmp_path / "testbed-faults.json").write_text(json.dumps({"faults": [row]}))
    made = faults_table(tmp_path)
    assert "| power cut | 70.5 s | 10 | 1 | 2.5 s | 1 | 0 | not in time | 40.0 | - |" in made
    assert filled(text, tmp_path) == text.replace("old", made)
