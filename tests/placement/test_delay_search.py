"""What makes the search for the shortest delay short: homes, counts, neighbourhoods, and bounds that cost nothing."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from ecotone.experiments.pogonip.instances import edge_cluster, random_small
from ecotone.model.arrays import Floats, Ints
from ecotone.placement.exact import counting, neighbourhood
from ecotone.placement.exact import homes as homes_module
from ecotone.placement.exact.aggregated_model import CLOUD, AggregatedModel, Dealt
from ecotone.placement.exact.bounds import least_opening
from ecotone.placement.exact.homes import Tenant, divides, fits, homes
from ecotone.placement.exact.milp import Model, Objective, Stage
from ecotone.placement.exact.neighbourhood import improve, vector
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.exact.scaling import scale
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Component, Host, Instance, QueueApplication, Tier
from ecotone.placement.problem.solution import Placement, figures

SAMPLE = range(12)
TAXI = Tenant(queue=np.array([8]), most=50, own=((np.array([4]), 1), (np.array([1]), 1), (np.array([2]), 2)))


def test_the_homes_of_a_taxi_application_on_a_node_of_four_gibibytes() -> None:
    """One queue beside any of its microservices but all of them (4 + 1 + 2 + 2 do not fit into 8), or two queues."""
    listed = homes(np.array([16]), [TAXI])
    assert listed is not None
    found = {(*q.tolist(), *own.tolist()) for q, own in zip(listed.queues, listed.own[0], strict=True)}
    one = {(1, s, i, a) for s in (0, 1) for i in (0, 1) for a in (0, 1, 2)} - {(1, 1, 1, 2)}
    assert found == one | {(2, 0, 0, 0)}
    assert all(8 * q + 4 * s + i + 2 * a + left == 16 for (q, s, i, a), (left,) in _with_room(listed))


def _with_room(listed: homes_module.Homes) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    rows = np.hstack([listed.queues, listed.own[0]]).tolist()
    return [(tuple(row), tuple(left)) for row, left in zip(rows, listed.left.tolist(), strict=True)]


def test_a_node_too_small_for_a_queue_is_no_home_and_one_with_too_many_lists_none() -> None:
    assert homes(np.array([7]), [TAXI]) is None
    assert homes(np.array([8 * 500]), [replace(TAXI, most=500)]) is None


def test_how_many_fit_and_whether_that_is_a_matter_of_capacity_alone() -> None:
    rooms = np.array([[8, 9], [6, 9]])
    assert fits(rooms, np.array([3, 4])).tolist() == [2, 2]
    assert not divides(rooms, np.array([3, 4])) and divides(rooms, np.array([2, 0]))


def test_a_queue_that_fills_its_host_keeps_no_microservice_beside_it() -> None:
    """The relaxation itself knows: without homes it would place eight elevenths of both at no delay."""
    hosts = tuple(Host(name, "edge", (8, 8)) for name in ("e", "n"))
    application = QueueApplication("a", Component("q", (8, 8)), (Component("m", (3, 3)),), 10.0)
    instance = Instance(hosts, (application,), ("e",), np.array([[0.0, 10.0], [10.0, 0.0]]))
    with_homes = AggregatedModel(instance, admission=False, list_homes=True)
    plain = AggregatedModel(instance, admission=False)
    assert with_homes.model.relaxation(with_homes.latency())[0] == pytest.approx(10.0)
    assert plain.model.relaxation(plain.latency())[0] < 5.0


@pytest.mark.parametrize("seed", SAMPLE)
def test_homes_change_no_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_small(seed)
    tight = figures(instance, pogonip_opt(instance, time_limit=None).placement)
    monkeypatch.setattr(homes_module, "MOST_HOMES", -1)
    plain = pogonip_opt(instance, time_limit=None)
    assert plain.proven and figures(instance, plain.placement).rank[:4] == pytest.approx(tight.rank[:4])


@pytest.mark.parametrize("seed", SAMPLE)
def test_a_placement_as_columns_is_a_solution_with_the_same_figures(seed: int) -> None:
    instance = random_small(seed)
    placement = pogonip_opt(instance, time_limit=None).placement
    model = AggregatedModel(instance, list_homes=True)
    x = vector(model, _dealt(instance, placement))
    result = figures(instance, placement)
    values = [each.of(x) for each in (model.rejected(), model.forwarded(), model.nodes(), model.latency())]
    assert values == pytest.approx(
        [result.apps_rejected, result.forwarded_to_cloud, result.edge_nodes_used, result.latency_total_ms]
    )
    model.model.fix(np.arange(model.model.columns), x)
    assert model.model.minimise(model.latency())[1].value == pytest.approx(result.latency_total_ms)


def _dealt(instance: Instance, placement: Placement) -> Dealt:
    cloud = {int(host) for host in instance.cloud}
    return Dealt(
        tuple(None if row is None else tuple(CLOUD if h in cloud else h for h in row) for row in placement.hosts)
    )


@pytest.mark.lasting
@pytest.mark.parametrize("margin", [-10.0, 0.02])
def test_deciding_counts_first_finds_the_same_optimum(margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a negative margin every fractional count is branched on."""
    monkeypatch.setattr(counting, "MARGIN", margin)
    set_aside = 0
    for seed in range(120):
        model = AggregatedModel(random_small(seed))
        for objective in (model.rejected(), model.forwarded(), model.nodes()):
            value = model.model.minimise(objective)[1].value
            assert value is not None
            model.model.limit(objective, value)
        _, waiting = counting._decide(model.model, model.latency(), model.sizes(), None)
        set_aside += len(waiting)
        expected = model.model.minimise(model.latency())[1].value
        x, stage = counting.minimise_by_counts(
            model.model, model.latency(), model.sizes(), time_limit=None, gap=0.0, clock=None
        )
        assert x is not None and stage.status == "optimal"
        assert (stage.value, stage.bound) == pytest.approx((expected, expected))
    assert set_aside >= 10


def test_a_side_set_aside_is_searched_when_the_other_turns_out_worse() -> None:
    """One of a kind costs 10 in fractions and 30 in whole numbers, two cost 15: the side that looks worse has the optimum."""
    model = Model()
    count, half = model.variables(1, upper=3.0), model.variables(1, upper=3.0)
    odd = model.variables(1, upper=1.0, integer=False)
    cost = model.variables(1, upper=100.0, integer=False)
    _at_least(model, [(count, 20.0), (cost, 1.0)], 30.0)
    _at_least(model, [(count, -30.0), (cost, 1.0)], -45.0)
    _at_least(model, [(count, -1.0), (half, 2.0), (odd, 1.0)], 0.0)
    _at_least(model, [(count, 1.0), (half, -2.0), (odd, 1.0)], 0.0)
    _at_least(model, [(odd, -30.0), (cost, 1.0)], 0.0)
    objective = Objective("cost", cost, np.ones(1), integral=False)
    few = model.fork()
    few.entries(few.constraints(1, upper=1.0), count, 1.0)
    assert (few.relaxation(objective)[0], few.minimise(objective)[1].value) == pytest.approx((10.0, 30.0))
    x, stage = counting.minimise_by_counts(model, objective, [count], time_limit=None, gap=0.0, clock=None)
    assert x is not None and stage.status == "optimal"
    assert (stage.value, stage.bound, x[count[0]]) == pytest.approx((15.0, 15.0, 2.0))


def _at_least(model: Model, terms: Sequence[tuple[Ints, float]], least: float) -> None:
    row = model.constraints(1, lower=least)
    for column, coefficient in terms:
        model.entries(row, column, coefficient)


@pytest.mark.parametrize(
    ("coefficients", "integer", "expected"),
    [([5.0, 10.0, 25.0], True, 5.0), ([3.0, 7.0], True, 1.0), ([2.5, 5.0], True, 0.0), ([5.0], False, 0.0)],
)
def test_the_step_between_two_values(coefficients: list[float], integer: bool, expected: float) -> None:
    model = Model()
    columns = model.variables(len(coefficients), integer=integer)
    assert counting.step(model, Objective("delay", columns, np.array(coefficients), integral=False)) == expected


def test_a_side_that_may_be_better_by_one_step_is_searched() -> None:
    """One of a kind costs a half in fractions and 2 in whole numbers; two cost 1, which is also their bound."""
    model = Model()
    count, half, cost = (model.variables(1, upper=3.0) for _ in range(3))
    odd = model.variables(1, upper=1.0, integer=False)
    _at_least(model, [(count, 2.0), (cost, 1.0)], 2.5)
    _at_least(model, [(count, -2.0), (cost, 1.0)], -3.0)
    _at_least(model, [(count, -1.0), (half, 2.0), (odd, 1.0)], 0.0)
    _at_least(model, [(count, 1.0), (half, -2.0), (odd, 1.0)], 0.0)
    _at_least(model, [(odd, -2.0), (cost, 1.0)], 0.0)
    objective = Objective("cost", cost, np.ones(1), integral=False)
    _, waiting = counting._decide(model, objective, [count], None)
    assert [bound for bound, _ in waiting] == pytest.approx([1.0])
    _, stage = counting.minimise_by_counts(model, objective, [count], time_limit=None, gap=0.0, clock=None)
    assert (stage.value, stage.bound, stage.status) == (pytest.approx(1.0), pytest.approx(1.0), "optimal")


@pytest.mark.parametrize("seed", range(2))
def test_neighbourhoods_make_a_greedy_answer_better_and_break_nothing(seed: int) -> None:
    instance = edge_cluster(nodes=30, applications=8, classes=2, seed=seed, cloud=6)
    start = improved_greedy(instance)
    model = AggregatedModel(instance, list_homes=True)
    x = vector(model, _dealt(instance, start))
    for objective in (model.rejected(), model.forwarded(), model.nodes()):
        model.model.limit(objective, objective.of(x))
    delay = model.latency()
    ticks = count(0.0, 0.3)  # three neighbourhoods, however busy the machine is
    after = improve(model, delay, x, time_limit=1.0, clock=lambda: next(ticks))
    assert delay.of(after) < delay.of(x)
    hosts = model.deal(after).hosts
    assert not any(CLOUD in row for row in hosts if row is not None)
    assert violations(instance, Placement(hosts=hosts, reasons=start.reasons)) == []


def test_without_a_clock_neighbourhoods_are_asked_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbourhood, "BLIND_ROUNDS", 1)
    instance = edge_cluster(nodes=30, applications=8, classes=2, seed=0, cloud=6)
    model = AggregatedModel(instance, list_homes=True)
    x = vector(model, _dealt(instance, improved_greedy(instance)))
    asked: list[float | None] = []
    minimise = Model.minimise

    def counted(self: Model, objective: Objective, *, time_limit: float | None = None) -> tuple[Floats | None, Stage]:
        asked.append(time_limit)
        return minimise(self, objective, time_limit=time_limit)

    monkeypatch.setattr(Model, "minimise", counted)
    improve(model, model.latency(), x, time_limit=0.5, clock=None)
    assert asked == [0.5]


def test_neighbourhoods_end_when_the_time_is_up() -> None:
    instance = edge_cluster(nodes=30, applications=8, classes=2, seed=1, cloud=6)
    model = AggregatedModel(instance, list_homes=True)
    x = vector(model, _dealt(instance, improved_greedy(instance)))
    ticks = iter([0.0, 2.0])
    assert improve(model, model.latency(), x, time_limit=1.0, clock=lambda: next(ticks)) is x


@pytest.mark.parametrize("seed", SAMPLE)
def test_the_counted_bound_on_nodes_never_exceeds_the_optimum(seed: int) -> None:
    instance = random_small(seed)
    best = figures(instance, pogonip_opt(instance, time_limit=None).placement)
    bound = least_opening(instance, scale(instance))([best.apps_rejected, best.forwarded_to_cloud])
    assert bound <= best.edge_nodes_used


def test_the_counted_bound_fills_the_largest_nodes_first_and_counts_those_in_use() -> None:
    hosts = [Host(f"e{k}", "edge", (size, size)) for k, size in enumerate((4, 4, 8))]
    application = QueueApplication("a", Component("q", (4, 4)), (Component("m", (2, 2)), Component("n", (3, 3))), 10.0)
    distance = np.zeros((3, 3))
    instance = Instance(tuple(hosts), (application,), ("e0",), distance)
    lower = least_opening(instance, scale(instance))
    assert [lower([0, 0]), lower([0, 1]), lower([1, 0])] == [2.0, 1.0, 0.0]
    busy = Instance((replace(hosts[0], in_use=True), *hosts[1:]), (application,), ("e0",), distance)
    assert [least_opening(busy, scale(busy))([0, 0]), least_opening(busy, scale(busy))([1, 0])] == [2.0, 1.0]


@pytest.mark.parametrize("tier", ["edge", "cloud"])
def test_without_applications_there_is_nothing_to_place_and_that_is_proven(tier: Tier) -> None:
    instance = Instance((Host("e", tier, (4, 4)),), (), ("e",), np.zeros((1, 1)))
    assert pogonip_opt(instance).proven
