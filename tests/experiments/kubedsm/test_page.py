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
        assert (mean([each.satisfied for each in rows["ecotone"]]) or 0.0) >= 0.9
    moves = {
        policy: sum(each.migrations for name in figures["scenarios"] for each in measures(figures, name, policy))
        for policy in ("kubedsm", "ecotone")
    }
    assert moves["ecotone"] <= moves["kubedsm"]


@pytest.mark.parametrize("name", ["means", "sigmas"])
def test_at_no_time_has_ecotone_moved_more_than_one_pod_in_15_s(name: str) -> None:
    """Counted from the beginning of each run; and in any stretch no more than that and what may be kept for later."""
    for scenario in stored(name)["scenarios"].values():
        for run in scenario["policies"]["ecotone"]:
            times = sorted(run["moved_at"])
            assert len(times) == run["migrations"]
            assert all(number + 1 <= at / 15.0 for number, at in enumerate(times))
            for first, start in enumerate(times):
                for last, end in enumerate(times[first:]):
                    assert last + 1 <= 12 + (end - start) / 15.0 + 1e-6
