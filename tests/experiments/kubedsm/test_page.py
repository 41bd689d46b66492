"""The documented tables of KubeDSM's evaluation are those that the stored results give, and say what the page says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ecotone.experiments.campaign.statistics import mean
from ecotone.experiments.kubedsm.page import sections, with_tables
from ecotone.experiments.kubedsm.tables import compared, measures, placer, varied

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results"


def stored(name: str) -> Any:
    return json.loads((RESULTS / f"kubedsm-{name}.json").read_text(encoding="utf-8"))["figures"]


def test_the_documented_tables_are_those_of_the_stored_results() -> None:
    page = (DOCS / "kubedsm.md").read_text(encoding="utf-8")
    assert with_tables(page, sections(RESULTS)) == page
    assert all(table in page for table in sections(RESULTS).values())


def test_a_stored_result_gives_the_tables_of_the_command() -> None:
    for name in ("means", "sigmas"):
        figures, against, published = compared(stored(name))
        assert len(figures.rows) == len(stored(name)["scenarios"]) * 7
        assert all(len(row) == len(table.header) for table in (figures, against, published) for row in table.rows)
    table = varied(stored("variants"))
    assert len(table.rows) == 16
    assert all(len(row) == len(table.header) for row in table.rows)


@pytest.mark.parametrize("name", ["means", "sigmas"])
def test_the_stored_results_keep_what_is_promised_of_them(name: str) -> None:
    """Latency below kube-default's and kubedsm's, and near the exact placer's, in every scenario."""
    figures = stored(name)
    for scenario in figures["scenarios"]:
        rows = {policy: measures(figures, scenario, policy) for policy in ("kube-default", "kubedsm", "ecotone")}
        latency = {policy: mean([each.mean_latency for each in found]) or 0.0 for policy, found in rows.items()}
        assert latency["kubedsm"] < latency["kube-default"]
        assert latency["ecotone"] <= latency["kubedsm"]
        assert latency["ecotone"] <= 1.08 * placer(figures, scenario)[0]
