"""The figures of KubeDSM's evaluation, on placements small enough to count by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ecotone.experiments.campaign.registry import find
from ecotone.experiments.campaign.runs import Job, execute
from ecotone.experiments.kubedsm import published
from ecotone.experiments.kubedsm.evaluation import CONTENDERS, variants
from ecotone.experiments.kubedsm.measures import achievable, exact_placer, measure, optimum
from ecotone.placement.kubedsm.configuration import VARIANTS
from ecotone.scheduling import POLICIES
from ecotone.sim.scenario.families.kubedsm import FAMILY, KubeDsm


@pytest.mark.parametrize(
    ("pods", "services"),
    [((1, 1, 1, 1), 4), ((3, 2, 3, 1), 4), ((11, 0, 0, 0), 4), ((12, 1, 1, 1), 3), ((12, 12, 12, 12), 0)],
)
def test_how_many_services_could_be_on_the_edge_as_a_whole(pods: tuple[int, ...], services: int) -> None:
    assert achievable(pods) == services


def test_the_optimum_of_what_fits_is_the_edge_and_of_what_does_not_is_a_mixture() -> None:
    assert optimum((1, 1, 1, 1)) == 50.0
    # Eleven cores: 22 pods of one core leave half of them in the cloud.
    assert optimum((22, 1, 1, 1)) > 50.0


def test_every_trial_has_its_own_counts_and_every_policy_of_a_trial_the_same() -> None:
    scenario = KubeDsm(1.3, 0.4)
    assert scenario.text(1) == scenario.text(1)
    assert scenario.cycles(1) != scenario.cycles(2)
    assert scenario.text() == scenario.text(0)


def test_a_run_is_measured_as_the_simulator_counts_it() -> None:
    run = execute(Job(KubeDsm(1.3, 0.4).text(1), "x.yaml", "kubedsm", 0, 1))
    found = measure(run)
    assert found.mean_latency == pytest.approx(run.edge_latency_ms, abs=1e-3)
    assert found.optimum <= found.mean_latency + 1e-6
    assert 0.0 < found.satisfied <= 1.0
    assert 0.25 <= found.fairness <= 1.0
    assert found.migrations == len(run.moves)
    latency, moves = exact_placer(run)
    assert found.optimum <= latency + 1e-6
    assert moves <= len(run.placement)


def test_the_variants_are_named_as_published_and_every_scenario_has_published_figures() -> None:
    names = {profile.name for profile in variants()}
    assert names == {*VARIANTS, "kubedsm"} == set(published.VARIANTS["1.3-0.4"])
    scenarios = {f"{each.mean:g}-{each.deviation:g}" for each in FAMILY}
    assert all(set(found) == scenarios for found in published.LATENCY.values())
    assert all(set(found) == scenarios for found in published.EDGE_RATIO.values())
    assert set(published.KEPT) == scenarios
    assert {profile.name for profile in CONTENDERS} - {"ecotone"} == set(published.LATENCY)


@pytest.mark.parametrize("name", ["kubedsm-means", "kubedsm-sigmas", "kubedsm-variants"])
def test_the_experiments_are_known_by_name(name: str) -> None:
    assert "KubeDSM" in find(name).summary


@pytest.mark.slow
def test_no_migration_and_no_cloud_offload_are_one_program() -> None:
    """As published they differ by up to 7 %: the noise of the published runs."""
    by_name = {profile.name: profile for profile in variants()}
    text = KubeDsm(1.3, 0.4).text(1)
    first, second = (
        execute(Job(text, "x.yaml", replace(by_name[name], name="same"), 0, 1))
        for name in ("NoMigration", "NoCloudOffload")
    )
    assert first == second
    assert POLICIES["kubedsm"].descheduler == by_name["NoMigration"].descheduler
