"""The counts model against brute force over single pods, and what holds of every answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ecotone.placement.qos.exact import exact
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.solve import heuristic, solve
from placement.qos.instances import best_of_all, random_small

CAMPAIGN = range(300)


@pytest.mark.parametrize("seed", CAMPAIGN)
def test_counts_reach_what_the_best_placement_of_single_pods_reaches_in_every_stage(seed: int) -> None:
    problem = random_small(seed)
    found = exact(problem)
    assert found is not None
    assert found.proven
    assert problem.violations(found.x) == []
    loss = round(found.loss + problem.move_cost * found.moves, 6)
    expected = best_of_all(problem)
    assert (found.unplaced, found.moves) == (expected[0], expected[2])
    assert loss == pytest.approx(expected[1], abs=1e-4)
    assert found.fit == pytest.approx(-expected[3], abs=1e-4)


@pytest.mark.parametrize("seed", range(30))
def test_with_a_clock_and_time_enough_the_answer_is_as_good(seed: int) -> None:
    """The loss is proven before anything else is asked for; the other stages follow all the same."""
    problem = random_small(seed)
    ended: list[str] = []
    plain = exact(problem)
    timed = exact(problem, time_limit=60.0, clock=lambda: 0.0, report=lambda stage: ended.append(stage.name))
    assert plain is not None
    assert timed is not None
    assert timed.proven
    assert problem.violations(timed.x) == []
    assert timed.rank[0] == plain.rank[0]
    assert timed.rank[1:] == pytest.approx(plain.rank[1:], abs=1e-4)
    assert ended[-3:] == ["loss", "moves", "fit"]


@pytest.mark.parametrize("seed", range(40))
def test_the_heuristic_keeps_every_limit_and_never_beats_the_optimum_or_its_own_bound(seed: int) -> None:
    problem = replace(random_small(seed), budget=None)
    best, found = exact(problem), heuristic(problem)
    assert best is not None
    assert problem.violations(found.x) == []
    if found.unplaced == best.unplaced:
        hysteresis = problem.move_cost * found.moves
        assert found.loss + hysteresis >= best.loss + problem.move_cost * best.moves - 1e-6
        assert found.bound <= best.loss + problem.move_cost * best.moves + 1e-6


def two_nodes(**more: object) -> Problem:
    """One pod in the cloud, room for it on the edge."""
    return Problem.of(
        size=np.array([[1.0]]),
        capacity=np.array([[1.0], [9.0]]),
        latency=np.array([[50.0, 300.0]]),
        target=np.array([50.0]),
        pods=np.array([1]),
        current=np.array([[0, 1]]),
        **more,  # type: ignore[arg-type]
    )


def test_a_pod_moves_for_its_target_and_stays_where_the_move_costs_more() -> None:
    assert solve(two_nodes()).x.tolist() == [[1, 0]]
    assert solve(two_nodes(move_cost=249.0)).x.tolist() == [[1, 0]]
    assert solve(two_nodes(move_cost=251.0)).x.tolist() == [[0, 1]]
    assert solve(two_nodes(budget=0)).x.tolist() == [[0, 1]]
    assert solve(two_nodes(most_moves=np.array([0]))).x.tolist() == [[0, 1]]


def test_one_promise_kept_counts_more_than_two_nearly_kept_if_it_should() -> None:
    """Two services of two pods each, room for two: one of each by default at equal loss, both of one with `broken_ms`."""
    problem = Problem.of(
        size=np.array([[1.0], [1.0]]),
        capacity=np.array([[2.0], [9.0]]),
        latency=np.array([[50.0, 300.0]] * 2),
        target=np.array([50.0, 50.0]),
        pods=np.array([2, 2]),
        current=np.array([[1, 1], [1, 1]]),
    )
    assert solve(problem).x[:, 0].tolist() == [1, 1]
    assert sorted(solve(replace(problem, broken_ms=30.0)).x[:, 0].tolist()) == [0, 2]


def test_at_equal_loss_and_moves_room_is_left_for_what_comes() -> None:
    """A new small pod goes beside the other one, so that a large one still fits."""
    problem = Problem.of(
        size=np.array([[1.0], [2.0]]),
        capacity=np.array([[2.0], [2.0], [9.0]]),
        latency=np.array([[50.0, 50.0, 300.0]] * 2),
        target=np.array([50.0, 50.0]),
        pods=np.array([2, 0]),
        current=np.array([[1, 0, 0], [0, 0, 0]]),
        near=np.array([True, True, False]),
    )
    assert solve(problem).x[0].tolist() == [2, 0, 0]


def test_an_instance_that_does_not_fit_leaves_as_few_pods_out_as_possible() -> None:
    problem = Problem.of(
        size=np.array([[2.0], [1.0]]),
        capacity=np.array([[2.0]]),
        latency=np.array([[50.0], [50.0]]),
        target=np.array([50.0, 50.0]),
        pods=np.array([1, 2]),
        current=np.zeros((2, 1), np.int64),
    )
    assert (solve(problem).x.ravel().tolist(), solve(problem).unplaced) == ([0, 2], 1)
