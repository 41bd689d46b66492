"""The exact models against brute force and against each other."""

import numpy as np
import pytest

from ecotone.experiments.pogonip.instances import edge_cluster, random_small
from ecotone.placement.exact import cloud_model
from ecotone.placement.exact.aggregated_model import AggregatedModel
from ecotone.placement.exact.ball_model import BallModel
from ecotone.placement.exact.milp import lexicographic
from ecotone.placement.exact.paper_model import cloud_problem, edge_problem
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.heuristic.pogonip import pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication
from ecotone.placement.problem.solution import figures
from placement.brute_force import best_rank, least_g, with_endless_cloud

SAMPLE = range(60)
CAMPAIGN = range(200)


@pytest.mark.parametrize("seed", CAMPAIGN)
def test_the_optimum_is_the_best_of_all_placements(seed: int) -> None:
    instance = random_small(seed)
    answer = pogonip_opt(instance, time_limit=None)
    assert violations(instance, answer.placement) == []
    assert answer.proven
    assert figures(instance, answer.placement).rank[:4] == pytest.approx(best_rank(instance)[:4])


@pytest.mark.parametrize("seed", CAMPAIGN)
def test_the_aggregated_model_the_papers_model_and_brute_force_agree_on_g(seed: int) -> None:
    instance = with_endless_cloud(random_small(seed))
    expected = least_g(instance)
    aggregated = AggregatedModel(instance, admission=False)
    _, stage = aggregated.model.minimise(aggregated.papers())
    published = edge_problem(instance)
    assert (stage.value, published.stage.value) == (expected, expected)


@pytest.mark.parametrize("seed", SAMPLE)
def test_where_edge_nodes_have_prices_the_least_price_is_found(seed: int) -> None:
    instance = random_small(seed, priced=True)
    answer = pogonip_opt(instance, time_limit=None)
    assert violations(instance, answer.placement) == []
    assert answer.proven
    assert figures(instance, answer.placement).rank[:4] == pytest.approx(best_rank(instance)[:4])
    for heuristic in (pogonip, improved_greedy):
        assert figures(instance, answer.placement).rank[:3] <= figures(instance, heuristic(instance)).rank[:3]


@pytest.mark.parametrize("seed", SAMPLE)
def test_all_models_agree_on_g_with_prices(seed: int) -> None:
    instance = with_endless_cloud(random_small(seed, priced=True))
    expected = least_g(instance)
    aggregated = AggregatedModel(instance, admission=False)
    _, stage = aggregated.model.minimise(aggregated.papers())
    published = edge_problem(instance)
    found = [stage.value, published.stage.value]
    assert found == [None, None] if expected is None else found == pytest.approx([expected, expected])


def three_dear_or_four_cheap(*, prices: tuple[float, float] = (5.0, 2.55)) -> Instance:
    """Twelve equal pods: three nodes hold four each, four others three each."""
    dear, cheap = prices
    hosts = [Host(f"dear-{k}", "edge", (400, 400), price=dear) for k in range(3)]
    hosts += [Host(f"cheap-{k}", "edge", (300, 300), price=cheap) for k in range(4)]
    one = (100, 100)
    parts = tuple(Component(f"m{k}", one) for k in range(11))
    application = QueueApplication("twelve", Component("q", one), parts, 50.0)
    return Instance(tuple(hosts), (application,), ("dear-0",), np.full((7, 7), 5.0) - 5.0 * np.eye(7))


def test_four_cheap_nodes_are_taken_instead_of_three_dear_ones() -> None:
    instance = three_dear_or_four_cheap()
    for answer in (pogonip_opt(instance, time_limit=None).placement, improved_greedy(instance)):
        found = figures(instance, answer)
        assert violations(instance, answer) == []
        assert (found.edge_nodes_used, found.edge_cost_per_hour) == (4, pytest.approx(10.2))
    assert edge_problem(instance).stage.value == pytest.approx(10.2)


def test_without_prices_the_fewest_nodes_are_taken() -> None:
    instance = three_dear_or_four_cheap(prices=(0.0, 0.0))
    found = figures(instance, pogonip_opt(instance, time_limit=None).placement)
    assert (found.edge_nodes_used, found.edge_cost_per_hour) == (3, 0.0)


@pytest.mark.parametrize("seed", SAMPLE)
def test_the_cloud_is_rented_at_the_price_the_papers_cloud_problem_finds(seed: int) -> None:
    instance = random_small(seed)
    answer = pogonip_opt(instance, time_limit=None).placement
    forwarded = [
        (a, i) for a, row in enumerate(answer.hosts) for i, h in enumerate(row or ()) if not instance.is_edge[h]
    ]
    published = cloud_problem(instance, forwarded)
    assert figures(instance, answer).cloud_cost_per_hour == pytest.approx(published.stage.value)


@pytest.mark.parametrize("seed", SAMPLE)
def test_the_ball_model_agrees_where_delay_does_not_count(seed: int) -> None:
    instance = random_small(seed)
    ball, aggregated = BallModel(instance), AggregatedModel(instance)
    values = [
        [stage.value for stage in lexicographic(m.model, [m.rejected(), m.forwarded(), m.nodes()]).stages]
        for m in (ball, aggregated)
    ]
    assert values[0] == values[1]


@pytest.mark.parametrize("seed", range(8))
def test_the_optimum_is_never_worse_than_a_heuristic(seed: int) -> None:
    instance = edge_cluster(nodes=12, applications=4, classes=2, seed=seed, cloud=6)
    best = figures(instance, pogonip_opt(instance, time_limit=0.4).placement).rank
    for heuristic in (pogonip, improved_greedy):
        assert best <= figures(instance, heuristic(instance)).rank


def test_out_of_time_the_heuristic_answers_and_the_gap_is_told() -> None:
    instance = edge_cluster(nodes=60, applications=25, classes=None, seed=3)
    answer = pogonip_opt(instance, time_limit=0.05)
    assert violations(instance, answer.placement) == []
    assert not answer.proven
    open_stages = [stage for stage in answer.stages if stage.status != "optimal"]
    assert open_stages and all(
        stage.value is not None and stage.gap is not None and stage.bound <= stage.value for stage in open_stages
    )


@pytest.mark.parametrize("seed", range(25))
def test_with_too_many_patterns_to_list_the_cloud_is_as_cheap(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_small(seed)
    listed = figures(instance, pogonip_opt(instance, time_limit=None).placement)
    monkeypatch.setattr(cloud_model, "MOST_PATTERNS", -1)
    named = pogonip_opt(instance, time_limit=None)
    assert violations(instance, named.placement) == []
    assert figures(instance, named.placement).cloud_cost_per_hour == listed.cloud_cost_per_hour


def test_a_cloud_that_has_room_in_sum_but_not_on_any_host_is_not_used() -> None:
    """Two hosts with half the room each: the microservice is not split, its application is rejected with a reason."""
    hosts = (
        Host("e", "edge", (100, 100)),
        Host("c1", "cloud", (60, 60), price=1.0),
        Host("c2", "cloud", (60, 60), price=1.0),
    )
    small, large = Component("m", (60, 60)), Component("n", (50, 50))
    distance = np.array([[0.0, 9.0, 9.0], [9.0, 0.0, 0.0], [9.0, 0.0, 0.0]])
    applications = (
        QueueApplication("three", Component("q", (40, 40)), (small, large, large), 5.0),
        QueueApplication("one", Component("q", (40, 40)), (small,), 5.0),
    )
    instance = Instance(hosts, applications, ("e",), distance)
    answer = pogonip_opt(instance, time_limit=None)
    assert answer.proven and violations(instance, answer.placement) == []
    assert figures(instance, answer.placement).rank[:4] == best_rank(instance)[:4]
