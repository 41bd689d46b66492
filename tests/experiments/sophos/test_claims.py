"""The thesis' claims held against figures, and the variations that its evaluation is sensitive to."""

from __future__ import annotations

import pytest

from ecotone.experiments.campaign.grid import Findings, Grid
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Options, find
from ecotone.experiments.sophos.claims import claims
from ecotone.experiments.sophos.sensitivity import NAMES, variations
from ecotone.scheduling import POLICIES
from ecotone.sim.scenario import read_scenario
from ecotone.sim.scenario.families.sock_shop import SockShop
from experiments.campaign.records import record


def findings(sophos: dict[tuple[float, int], float], default: float) -> Findings:
    """p95 of Sophos by latency and users; the default scheduler has the same everywhere."""
    latencies, users = sorted({each for each, _ in sophos}), sorted({each for _, each in sophos})
    runs: dict[tuple[str, float, int], list[Run]] = {}
    for (latency, count), p95 in sophos.items():
        runs["sophos", latency, count] = [record(p95)]
        runs["kube-default", latency, count] = [record(default)]
    grid = Grid(latencies, users, 1, lambda latency, users, trial: "")
    return Findings(grid, [POLICIES["kube-default"], POLICIES["sophos"]], runs)


def test_claims_that_hold_say_so_with_figures() -> None:
    alike, grows, users = claims(
        findings({(10.0, 10): 98.0, (10.0, 50): 99.0, (100.0, 10): 40.0, (100.0, 50): 60.0}, 100.0)
    )
    assert "Holds: with 10 users p95 is 98 ms under sophos and 100 ms under kube-default" in alike
    assert "Holds: 1.5 % at 10 ms, 50.0 % at 100 ms" in grows
    assert "Holds" in users and "40 to 60 ms at 100 ms" in users


def test_claims_that_do_not_hold_say_so_too() -> None:
    alike, grows, users = claims(
        findings({(10.0, 10): 40.0, (10.0, 50): 30.0, (100.0, 10): 90.0, (100.0, 50): 95.0}, 100.0)
    )
    assert all("Does not hold" in each for each in (alike, grows, users))


def test_a_grid_that_does_not_cover_a_claim_says_nothing_about_it() -> None:
    assert claims(findings({(100.0, 50): 50.0}, 100.0)) == []


def test_every_variation_is_a_scenario_and_a_policy_of_its_own() -> None:
    found = variations(SockShop(100, users=3).text())
    assert len({(what, profile.name) for what, _, profile in found}) == len(found)
    replicas = {
        what: {service.replicas for service in read_scenario(text, file="x").application.services}
        for what, text, _ in found
        if "replica" in what
    }
    assert replicas == {"1 replica": {1}, "2 replicas": {2}, "3 replicas": {3}}
    sizes = {what: read_scenario(text, file="x").load[0].response for what, text, _ in found if "answers" in what}
    assert sorted(sizes.values()) == [200.0, 3000.0, 20000.0]
    weights = [profile for what, _, profile in found if what == "gamma 0.1"]
    assert weights[0].descheduler is not None
    assert [use.weight for use in weights[0].descheduler.score] == [0.1, 0.9]


@pytest.mark.slow
def test_the_experiment_tells_every_variation_under_every_policy() -> None:
    result = find("sophos-sensitivity").run(Options(runs=1, users=(2,), workers=1))
    assert {row[1] for row in result.tables[0].rows} == set(NAMES)
