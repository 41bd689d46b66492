"""How far from the best static placement: what the evaluation says about it."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.best_static.distance import distance_figures, distance_notes, distances
from ecotone.experiments.campaign.grid import Findings, Grid, run_campaign
from ecotone.experiments.campaign.record import Run
from ecotone.scheduling import POLICIES
from experiments.campaign.records import phase, record
from experiments.campaign.two_phases import TEXT


def fake(p95: float, *phases: float) -> Run:
    return record(p95, intervals=[phase(number, value) for number, value in enumerate(phases)])


def findings(ours: Run) -> Findings:
    grid = Grid(latencies=[100.0], users=[10], trials=1, text=lambda *_: "")
    runs = {("sophos", 100.0, 10): [fake(200.0, 150.0, 200.0)], ("ecotone", 100.0, 10): [ours]}
    return Findings(grid, [], runs, {(100.0, 10): fake(100.0, 50.0, 100.0)})


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (fake(105.0, 50.0, 105.0), "5.0 % in a single phase: within the target of 10 %"),
        (fake(105.0, 60.0, 105.0), "over a whole run, 20.0 % in a single phase: within 25 %"),
        (fake(130.0, 50.0, 130.0), "30.0 % in a single phase: NOT within 25 %"),
    ],
)  # fmt: skip
def test_the_worst_decides_the_verdict(ours: Run, verdict: str) -> None:
    (note,) = distance_notes(findings(ours))
    assert verdict in note


def test_the_table_names_the_worst_phase() -> None:
    table = distances(findings(fake(105.0, 60.0, 105.0)))
    assert table.rows == [[100, 10, 100, 200, "+100.0 %", 105, "+5.0 %", "+20.0 %", "web.api0 from edge-1"]]
    figures = distance_figures(findings(fake(105.0, 60.0, 105.0)), 100.0)
    assert figures == {"p95_ms": {"10": 100.0}, "ecotone_above": 0.05, "ecotone_above_in_a_phase": 0.2}


def test_a_campaign_searches_the_bound_once_per_cell_whatever_the_trials() -> None:
    grid = Grid(latencies=[30.0], users=[3], trials=2, text=lambda *_: TEXT)
    found = run_campaign(grid, [POLICIES["kube-default"], POLICIES["ecotone"]], seed=1, bounds=True, workers=1)
    assert list(found.bounds) == [(30.0, 3)]
    assert len(found.runs["ecotone", 30.0, 3]) == 2
    first = found.runs["ecotone", 30.0, 3][0]
    assert first.requests == found.bounds[30.0, 3].requests
    best = found.bounds[30.0, 3].response_ms.p95
    assert first.response_ms.p95 is not None and best is not None
    assert first.response_ms.p95 >= best * (1 - 1e-9)
