"""The lower bound of a request's cost: never above any placement, and reached where calls form a tree."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.model.arrays import Floats, Mask
from ecotone.scheduling.response.bound import least_cost
from ecotone.scheduling.response.call_graph import CallGraph, Calls
from ecotone.scheduling.response.prediction import Prediction
from scheduling.call_graphs import application

SEEDS = st.integers(0, 2**32)


def masks(luck: Random, graph: CallGraph) -> tuple[Mask, Mask]:
    movable = np.array([luck.random() < 0.7 for _ in graph.names])
    return movable, np.array([[luck.random() < 0.7 for _ in graph.rows] for _ in graph.names])


def another(luck: Random, graph: CallGraph, movable: Mask, allowed: Mask) -> Floats:
    """Pods that may move stay where they are or go where they may."""
    found = np.zeros(graph.counts.shape)
    for workload, counts in enumerate(graph.counts):
        if not movable[workload]:
            found[workload] = counts
            continue
        for place in np.flatnonzero(counts):
            for _ in range(counts[place]):
                goes = [place, *np.flatnonzero(allowed[workload])]
                found[workload, luck.choice(goes)] += 1
    return found


def with_messages(luck: Random, graph: CallGraph) -> CallGraph:
    """For an answer to some of its calls nobody waits."""
    weight = luck.choice((0.0001, 1.0))
    calls = tuple(
        replace(each, rate=each.rate * weight, awaited=False) if luck.random() < 0.5 else each for each in graph.calls
    )
    return replace(graph, calls=calls, unawaited=weight)


@given(seed=SEEDS, uniform=st.booleans(), tree=st.booleans(), messages=st.booleans())
def test_no_placement_costs_less(seed: int, uniform: bool, tree: bool, messages: bool) -> None:
    luck = Random(seed)
    graph = application(
        luck, workloads=luck.randint(1, 6), nodes=luck.randint(1, 5), tree=tree, uniform=uniform, use=800.0
    )
    if messages:
        graph = with_messages(luck, graph)
    movable, allowed = masks(luck, graph)
    least = least_cost(graph, movable=movable, allowed=allowed)
    placements = np.stack([graph.counts, *(another(luck, graph, movable, allowed) for _ in range(40))])
    costs = Prediction(graph).cost(placements.astype(np.float64))
    assert least <= costs.min() + 1e-9 * max(1.0, costs.min())


@given(seed=SEEDS)
def test_where_calls_form_a_tree_and_cpu_is_free_some_placement_costs_exactly_that(seed: int) -> None:
    luck = Random(seed)
    graph = application(luck, workloads=luck.randint(1, 4), nodes=luck.randint(1, 4), tree=True, uniform=True, use=0.0)
    movable = np.array([luck.random() < 0.8 for _ in graph.names])
    nodes = len(graph.rows)
    every = [range(nodes) if free else (None,) for free in movable.tolist()]
    placements = np.repeat(graph.counts[np.newaxis].astype(np.float64), int(np.prod([len(each) for each in every])), 0)
    for number, places in enumerate(itertools.product(*every)):
        for workload, place in enumerate(places):
            if place is not None:
                placements[number, workload] = np.eye(nodes)[place] * graph.counts[workload].sum()
    least = least_cost(graph, movable=movable, allowed=np.ones(graph.counts.shape, dtype=np.bool_))
    assert least == pytest.approx(float(Prediction(graph).cost(placements).min()), rel=1e-6, abs=1e-6)


def test_what_may_not_move_is_not_thought_nearer() -> None:
    """Users here, a database there that stays: whoever is between them, the way is as long."""
    graph = application(Random(1), workloads=3, nodes=2, tree=True, uniform=True, use=0.0)
    chain = replace(
        graph,
        calls=(Calls(0, 1, 10.0), Calls(1, 2, 10.0)),
        users=np.array([[10.0, 0.0], [0.0, 0.0], [0.0, 0.0]]),
        counts=np.array([[2, 0], [1, 1], [0, 3]]),
        rtt=np.array([[0.0, 40.0], [40.0, 0.0]]),
        other=np.zeros(2),
        cores=np.full(2, 4.0),
        rate=10.0,
        order=(0, 1, 2),
    )
    everywhere = np.ones((3, 2), dtype=np.bool_)
    bound = {
        fixed: least_cost(chain, movable=np.array([True, True, not fixed]), allowed=everywhere)
        for fixed in (True, False)
    }
    assert bound[True] == pytest.approx(40.0, abs=1e-3)
    assert bound[False] == pytest.approx(0.0, abs=1e-3)
