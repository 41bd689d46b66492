"""The Pogonip experiments print what the paper printed, beside what we compute."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ecotone.experiments.campaign.registry import EXPERIMENTS, Options, Result, find
from ecotone.experiments.pogonip.arrivals import creation_moments, creation_order, pogonip_with_window
from ecotone.experiments.pogonip.gathered import gathered
from ecotone.experiments.pogonip.kubernetes import scheduled
from ecotone.experiments.pogonip.one import optimal_range
from ecotone.experiments.pogonip.plots import Timed, scaling_curves
from ecotone.model.errors import InputError
from ecotone.placement.heuristic.pogonip import Order, pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.solution import figures
from ecotone.placement.problem.taxi import scenario_1, scenario_2

SVG = "{http://www.w3.org/2000/svg}"


def column(result: Result, table: int, name: str) -> dict[str, object]:
    chosen = result.tables[table]
    return {str(row[0]): row[list(chosen.header).index(name)] for row in chosen.rows}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return find("pogonip-1").run(Options(runs=40, report=tmp_path_factory.mktemp("one")))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return find("pogonip-2").run(Options(runs=6, report=tmp_path_factory.mktemp("two")))


def test_the_first_figure_is_met_where_it_is_deterministic(one: Result) -> None:
    mean, median = column(one, 0, "mean ms"), column(one, 0, "median ms")
    assert (mean["first-fit"], median["first-fit"]) == (56.25, 57.5)
    assert mean["pogonip-opt"] == 15.0
    assert column(one, 0, "max")["pogonip"] == 35.0
    assert one.figures["policies"]["round-robin"]["runs"] == [[15, 95, 20, 10]] + [[105, 120, 200, 105]] * 4


def test_all_six_outcomes_of_the_heuristic_are_listed(one: Result) -> None:
    assert len(one.tables[1].rows) == 6


def test_kube_scheduler_avoids_the_control_node() -> None:
    """What its published runs had in common; its draw decides the rest."""
    instance = scenario_1()
    hosts = {host for seed in range(8) for host in scheduled(instance, "kube-default", seed=seed).hosts[0]}
    assert instance.index["cn"] not in hosts and len(hosts) >= 5


def test_optimal_placements_range_from_fifteen_to_twenty_seven_and_a_half_milliseconds() -> None:
    assert optimal_range(scenario_1()) == (15.0, 27.5)


@pytest.mark.parametrize("seed", range(40))
def test_applications_that_arrive_together_are_all_deployed_by_the_heuristic(seed: int) -> None:
    instance = scenario_2()
    seconds = {pod: 0.5 * moment for pod, moment in creation_moments(instance, seed).items()}
    placement = gathered(instance, seconds=seconds, settle=2.0, seed=seed)
    assert violations(instance, placement) == []
    assert figures(instance, placement).apps_placed == 8


@pytest.mark.parametrize("order", ["queues-first", "application"])
def test_applications_that_arrive_one_by_one_fill_the_edge_after_five(order: Order) -> None:
    """Each is kept on the edge while there is room and never moved: that is Algorithm 1 to the letter."""
    instance = scenario_2()
    seconds = {(a, i): 60.0 * a for a in range(8) for i in range(5)}
    assert figures(instance, gathered(instance, seconds=seconds, settle=2.0)).apps_placed == 5
    assert figures(instance, pogonip(instance, order=order)).apps_placed == (5 if order == "application" else 8)


def test_the_second_experiment_deploys_as_published_or_more(two: Result) -> None:
    deployed, price = column(two, 0, "deployed of 8"), column(two, 0, "price $/h")
    assert (deployed["pogonip-opt"], deployed["improved greedy"], deployed["pogonip (all pods known)"]) == (
        "8",
        "8",
        "8",
    )
    assert (price["pogonip-opt"], price["improved greedy"]) == ("8", "8")
    edge = column(two, 0, "pods on edge")
    assert (edge["pogonip-opt"], edge["improved greedy"]) == ("20", "20")
    assert column(two, 0, "GiB in cloud")["pogonip-opt"] == "14"


def test_pictures_name_every_policy_and_mark_the_bound(one: Result, two: Result) -> None:
    boxes, bars, more_boxes = [*one.plots, *two.plots]
    for path, result in ((boxes, one), (bars, two), (more_boxes, two)):
        drawn = ElementTree.parse(path).getroot()
        texts = {each.text for each in drawn.iter(f"{SVG}text")}
        assert column(result, 0, "runs").keys() <= texts
        assert [each for each in drawn.iter(f"{SVG}line") if each.get("class") == "limit"]


def test_a_curve_marks_what_the_time_limit_stopped(tmp_path: Path) -> None:
    curves = {"heuristic": [Timed(50, 0.01), Timed(500, 0.2)], "exact": [Timed(50, 1.0), Timed(500, 60.0, ended=False)]}
    drawn = ElementTree.parse(scaling_curves(curves, tmp_path / "deep" / "time.svg")).getroot()
    hollow = [each for each in drawn.iter(f"{SVG}circle") if "hollow" in (each.get("class") or "")]
    assert len(hollow) == 1 and "exact" in (hollow[0][0].text or "")
    assert len([each for each in drawn.iter(f"{SVG}path") if "curve" in (each.get("class") or "")]) == 2


def test_a_prototype_that_decides_early_deploys_six_or_seven_mostly() -> None:
    instance = scenario_2()
    counts = []
    for seed in range(30):
        run = pogonip_with_window(instance, order=creation_order(instance, seed), window=16, seed=seed)
        counts.append(figures(instance, run.placement(instance)).apps_placed)
    assert sum(count in (6, 7) for count in counts) >= 25


def test_seeing_all_pods_the_same_prototype_deploys_all_eight() -> None:
    instance = scenario_2()
    for seed in range(5):
        run = pogonip_with_window(instance, order=creation_order(instance, seed), window=40, seed=seed)
        assert figures(instance, run.placement(instance)).apps_placed == 8


def test_an_unknown_experiment_names_a_near_one() -> None:
    assert {"pogonip-1", "pogonip-2", "pogonip-time"} <= set(EXPERIMENTS)
    with pytest.raises(InputError, match="pogonip-2"):
        find("pogonip-3")
