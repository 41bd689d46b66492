"""Of placements that are nearly as fast on average, the one whose slowest requests wait less for CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import hypot, log

import numpy as np
import pytest

from ecotone.model.arrays import Floats, Ints
from ecotone.scheduling.costs.cost import waiting
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.prediction import Prediction
from scheduling.response.test_search import all_at, evenly, found, graph, limits

RATE = 75.0
# An entrance that asks two branches of two and one of one, as milliseconds of CPU.
WORK = (9.0, 8.0, 3.0, 5.0, 3.0)
CALLS = ((0, 1), (1, 2), (0, 3), (3, 4))


def branches(*, rtt: float, here: Sequence[Sequence[int]] | None = None, nodes: int = 4) -> CallGraph:
    counts = all_at(0, workloads=len(WORK), nodes=nodes) if here is None else here
    application = graph(
        counts,
        [(a, b, RATE) for a, b in CALLS],
        users=[RATE / nodes] * nodes,
        rtt=evenly(nodes, rtt),
        cores=2.0,
    )
    return replace(application, use=RATE * np.array(WORK))


def together(placement: Floats | Ints) -> set[frozenset[int]]:
    """Who shares a node with whom."""
    return {frozenset(np.flatnonzero(node).tolist()) for node in placement.T if node.any()}


def unsteady(application: CallGraph, counts: Sequence[Sequence[int]]) -> float:
    return float(Prediction(application).unsteady(np.array([counts], dtype=np.float64))[0])


def test_a_single_queue_has_the_tail_of_an_exponential_wait() -> None:
    application = graph([[1, 0]], [], users=[10.0, 0.0], rtt=evenly(2, 1.0), use=700.0, cores=1.0)
    wait = 70.0 * float(waiting(np.array([0.7]), np.array([1.0]))[0][0])
    assert unsteady(application, [[1, 0]]) == pytest.approx(wait * (log(20) - 1))


def test_queues_of_different_nodes_are_rarely_long_at_once() -> None:
    application = graph([[1, 0], [0, 1]], [(0, 1, 10.0)], users=[10.0, 0.0], rtt=evenly(2, 1.0), use=700.0, cores=1.0)
    alone = graph([[1, 0]], [], users=[10.0, 0.0], rtt=evenly(2, 1.0), use=700.0, cores=1.0)
    one = unsteady(alone, [[1, 0]])
    assert unsteady(application, [[1, 0], [0, 1]]) == pytest.approx(hypot(one, one))
    assert unsteady(application, [[1, 0], [1, 0]]) > 2 * one


def test_a_slow_node_is_as_slow_for_everybody() -> None:
    application = graph([[1, 0]], [], users=[10.0, 0.0], rtt=evenly(2, 1.0), use=1.0, cores=0.5)
    assert unsteady(application, [[1, 0]]) < 0.01


def test_work_that_nobody_asks_for_waits_unseen() -> None:
    busy = graph([[1, 0], [0, 1]], [(1, 0, 0.001)], users=[10.0, 0.0], rtt=evenly(2, 1.0), use=700.0, cores=1.0)
    alone = graph([[1, 0]], [], users=[10.0, 0.0], rtt=evenly(2, 1.0), use=700.0, cores=1.0)
    assert unsteady(busy, [[1, 0], [0, 1]]) == pytest.approx(unsteady(alone, [[1, 0]]))


def test_of_placements_nearly_as_fast_the_one_with_short_queues_is_taken() -> None:
    """By the mean one branch beside the entrance saves as much network as it waits longer; its tail is twice as long."""
    application = branches(rtt=10.0)
    prediction = Prediction(application)
    best = found(application, limits(application))
    assert together(best) == {frozenset({0}), frozenset({1, 2}), frozenset({3, 4})}
    one_beside = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    mean, less = prediction.cost(np.stack([best, one_beside]).astype(np.float64)).tolist()
    calm, tail = prediction.unsteady(np.stack([best, one_beside]).astype(np.float64)).tolist()
    assert less < mean < less + 0.05 * (less + sum(WORK))
    assert calm < tail / 2


def test_queues_are_put_up_with_where_the_way_is_long() -> None:
    application = branches(rtt=14.0)
    best = found(application, limits(application))
    assert frozenset({0}) not in together(best)


def everywhere(nodes: int) -> Floats:
    """All placements of the workloads, each as a whole."""
    places = np.array(list(product(range(nodes), repeat=len(WORK))))
    found: Floats = np.eye(nodes)[places]
    return found


def mean(application: CallGraph, placement: Floats) -> float:
    return float(Prediction(application).cost(placement[np.newaxis])[0])


def test_the_faster_one_is_taken_where_the_calm_one_would_not_be_worth_a_plan() -> None:
    first = branches(rtt=12.0, nodes=3)
    placements = everywhere(3)
    costs = Prediction(first).cost(placements)
    least, calm = float(costs.min()), mean(first, found(first, limits(first)).astype(np.float64))
    assert calm > least
    between = placements[(0.9 * costs > least) & (0.9 * costs < calm)][0]
    second = branches(rtt=12.0, nodes=3, here=between.astype(int).tolist())
    assert mean(second, found(second, limits(second)).astype(np.float64)) == pytest.approx(least)
