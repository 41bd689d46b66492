"""Promises on the page: the figures of the evaluation, for any scenario that promises something."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job, execute
from ecotone.experiments.kubedsm.measures import measure
from ecotone.experiments.report.page import page
from ecotone.experiments.report.promises import Promises
from ecotone.scheduling import POLICIES
from ecotone.sim.scenario import Scenario, load_scenario, read_scenario
from ecotone.sim.scenario.families.kubedsm import KubeDsm


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return read_scenario(KubeDsm(1.5, 0.4).text(1), file="kubedsm.yaml")


@pytest.fixture(scope="module")
def run() -> Run:
    return execute(Job(KubeDsm(1.5, 0.4).text(1), "kubedsm.yaml", POLICIES["kube-default"], 0, 1))


def as_json(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(msgspec.json.encode(run))
    return found


def test_the_figures_are_those_of_the_evaluation(scenario: Scenario, run: Run) -> None:
    """But for memory, of which the evaluation's nodes have units of 950 MiB, as pods ask for, and the scenario's GiB."""
    found, expected = Promises(scenario).of(as_json(run)), measure(run)
    assert found is not None
    assert tuple(found.latency.values()) == pytest.approx(expected.latency)
    assert found.edge_ratio == pytest.approx(expected.edge_ratio)
    assert found.achieved == pytest.approx(expected.satisfied)
    assert found.fairness == pytest.approx(expected.fairness)
    least = 950 / 1024 - 1e-9
    assert least**0.5 <= found.utilisation / expected.utilisation <= 1.0
    assert least <= (1.0 - found.fragmentation) / (1.0 - expected.fragmentation) <= 1.0


def test_the_page_shows_them(scenario: Scenario, run: Run) -> None:
    shown = page({"runs": [as_json(run)]}, scenario)
    for name in (
        "Promises to services",
        "edge ratio",
        "utilisation",
        "fragmentation",
        "fairness",
        "of achievable",
        "migrations",
    ):
        assert name in shown


def test_a_scenario_without_promises_has_no_such_part(run: Run) -> None:
    plain = load_scenario("festival")
    assert Promises(plain).of(as_json(run)) is None
    assert "Promises to services" not in page({"runs": []}, plain)


def test_a_run_without_samples_has_none(scenario: Scenario, run: Run) -> None:
    assert Promises(scenario).of({**as_json(run), "placement": []}) is None
    assert Promises(scenario).of({}) is None
