"""CLOSER's closing claim: set up as figure 5 has it, measured before and after, and judged by the figures alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecotone.experiments.campaign.registry import Options, find
from ecotone.experiments.campaign.runs import Job, execute
from ecotone.experiments.closer import messaging
from ecotone.experiments.closer.messaging import CASES, CLAIMED, FIGURE_5, Case, Finding, claims, scenario_of

SHORT = {"REPLACED": 120, "AGAIN": 150, "END": 210}


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same in minutes of virtual time instead of ten, long enough for the monitors to see the load."""
    for name, value in SHORT.items():
        monkeypatch.setattr(messaging, name, value)


def finding(case: Case, trials: int = 2) -> Finding:
    return Finding(case, [execute(Job(scenario_of(case), "m.yaml", case.policy, trial, 1)) for trial in range(trials)])


@pytest.mark.usefixtures("short")
def test_the_placement_is_that_of_figure_5_until_the_gateway_is_replaced() -> None:
    binds = finding(CLAIMED, 1).runs[0].binds
    assert {each.service: each.node for each in binds if each.at == 0} == FIGURE_5
    assert next((each.at, each.node) for each in binds if each.service == "api-gateway") == (5, "node1")


@pytest.mark.usefixtures("short")
def test_the_new_gateway_follows_the_heavier_channel() -> None:
    more_publishing = finding(CLAIMED)
    assert more_publishing.went == 2
    # The gateway and the publisher were 20 ms apart, and are on one node afterwards.
    assert all(difference == pytest.approx(-20.0, abs=1.5) for difference in more_publishing.differences)
    more_reading = finding(Case(10, 30, alike=True))
    assert more_reading.went == 0
    assert all(abs(difference) < 1.5 for difference in more_reading.differences)


@pytest.mark.usefixtures("short")
def test_bytes_decide_and_not_requests() -> None:
    assert finding(Case(30, 10), 1).went == 0
    assert finding(Case(30, 10, alike=True), 1).went == 1


@pytest.mark.usefixtures("short")
def test_the_verdict_follows_the_figures() -> None:
    good = finding(CLAIMED)
    (holds,) = claims([good])
    assert "Holds with 30 and 10 requests a second" in holds and "in 2 of 2 trials" in holds
    stayed = replace(good, runs=[good.runs[0], finding(Case(10, 30, alike=True), 1).runs[0]])
    (fails,) = claims([stayed])
    assert "Does not hold" in fails and "in 1 of 2 trials" in fails
    (alone,) = claims([replace(good, runs=good.runs[:1])])
    assert "Does not hold" in alone and "no interval" in alone
    assert claims([finding(Case(10, 30), 1)]) == []


@pytest.mark.usefixtures("short")
def test_the_experiment_has_a_row_for_every_case() -> None:
    result = find("communication-aware").run(Options(runs=1, seed=1, workers=1))
    (table,) = result.tables
    assert [row[:4] for row in table.rows] == [[each.policy, each.sizes, each.publish, each.read] for each in CASES]
    assert all(len(row) == len(table.header) for row in table.rows)
    assert len(result.notes) == sum(each.policy == "communication-aware" and each.publish > each.read for each in CASES)
