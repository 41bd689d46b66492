"""The paper's two scenarios: what every policy must answer."""

from collections.abc import Mapping

import pytest

from ecotone.experiments.pogonip.kubernetes import scheduled
from ecotone.placement.exact.paper_model import edge_problem
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.heuristic.pogonip import Tie, pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import figures, latencies
from ecotone.placement.problem.taxi import scenario_1, scenario_2

SIX_OUTCOMES = {
    (10, 10, 15, 30),
    (10, 15, 15, 30),
    (10, 15, 30, 30),
    (10, 10, 30, 35),
    (10, 30, 30, 35),
    (10, 30, 35, 35),
}


@pytest.fixture(scope="module")
def one() -> Instance:
    return scenario_1()


@pytest.fixture(scope="module")
def two() -> Instance:
    return scenario_2()


def test_distances_are_shortest_paths_over_the_links(one: Instance) -> None:
    row = dict(zip((h.name for h in one.hosts), one.distance[one.index["w2"]], strict=True))
    assert row == {"cn": 95, "w1": 80, "w2": 0, "w3": 115, "w4": 105, "w5": 125, "w6": 200}


def test_first_fit_places_the_single_application_as_published(one: Instance) -> None:
    assert latencies(one, scheduled(one, "first-fit").placement(one)) == [15, 95, 95, 20]


def test_round_robin_repeats_the_published_runs(one: Instance) -> None:
    runs, ends = [], []
    memory: Mapping[str, object] = {}
    for _ in range(5):
        run = scheduled(one, "round-robin", memory=memory)
        memory = run.memory
        ends.append(memory["RoundRobin"])
        runs.append(latencies(one, run.placement(one)))
    assert runs == [[15, 95, 20, 10], *[[105, 120, 200, 105]] * 4]
    assert ends == ["w4", "w3", "w3", "w3", "w3"]


def test_pogonip_with_random_ties_reaches_exactly_the_six_possible_outcomes(one: Instance) -> None:
    seen = {tuple(sorted(latencies(one, pogonip(one, tie="random", seed=seed)))) for seed in range(200)}
    assert seen == SIX_OUTCOMES


@pytest.mark.parametrize("tie", ["name", "latency"])
def test_pogonip_without_randomness_is_one_of_them(one: Instance, tie: Tie) -> None:
    assert tuple(sorted(latencies(one, pogonip(one, tie=tie)))) in SIX_OUTCOMES


def test_the_optimum_uses_three_nodes_and_fifteen_milliseconds_on_average(one: Instance) -> None:
    answer = pogonip_opt(one)
    result = figures(one, answer.placement)
    assert (result.edge_nodes_used, result.latency_ms.mean) == (3, 15.0)
    assert answer.proven


def test_the_papers_own_model_also_needs_three_nodes(one: Instance) -> None:
    assert edge_problem(one).stage.value == 3


def test_the_optimum_places_eight_applications_half_on_the_edge_for_eight_dollars(two: Instance) -> None:
    answer = pogonip_opt(two)
    result = figures(two, answer.placement)
    assert (result.apps_placed, result.edge_pods, result.edge_nodes_used) == (8, 20, 5)
    assert (result.forwarded_to_cloud, result.cloud_cost_per_hour) == (20, 8.0)
    assert result.latency_ms.mean == 36.25
    assert answer.proven and violations(two, answer.placement) == []


@pytest.mark.parametrize("seed", range(20))
def test_queues_first_and_smallest_first_reaches_the_optimums_counts(two: Instance, seed: int) -> None:
    placement = improved_greedy(two, tie="random", seed=seed, portfolio=False)
    result = figures(two, placement)
    counts = (result.apps_placed, result.edge_pods, result.edge_nodes_used, result.forwarded_to_cloud)
    assert counts == (8, 20, 5, 20) and result.cloud_cost_per_hour == 8.0
    assert violations(two, placement) == []


def test_pogonip_with_every_pod_known_places_more_than_the_published_six_or_seven(two: Instance) -> None:
    result = figures(two, pogonip(two))
    assert (result.apps_placed, result.edge_pods, result.cloud_cost_per_hour) == (8, 15, 8.0)


def test_algorithm_one_read_literally_strands_three_applications(two: Instance) -> None:
    placement = pogonip(two, order="application")
    assert figures(two, placement).apps_placed == 5
    assert all("no room left" in reason for reason in placement.reasons.values()) and len(placement.reasons) == 3


def test_ten_applications_are_the_most_the_edge_can_take_and_an_eleventh_is_rejected_with_a_reason() -> None:
    assert edge_problem(scenario_2(11)).stage.status == "infeasible"
    eleven = scenario_2(11)
    answer = pogonip_opt(eleven)
    assert figures(eleven, answer.placement).apps_placed == 10
    assert list(answer.placement.reasons) == ["taxi-10"]
    assert "no room left on any edge node within 50 ms" in answer.placement.reasons["taxi-10"]
