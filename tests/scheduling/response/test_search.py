"""The search for a placement of a whole application: what it finds where the coarse way alone would not get there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ecotone.model.arrays import Floats, Ints
from ecotone.model.objects import PodKind, WorkloadKey
from ecotone.scheduling.response.call_graph import CallGraph, Calls, callers_first
from ecotone.scheduling.response.constraints import Limits, Near
from ecotone.scheduling.response.prediction import Prediction
from ecotone.scheduling.response.search import Search


def graph(
    counts: Sequence[Sequence[int]],
    calls: Sequence[tuple[int, int, float]],
    *,
    users: Sequence[float],
    rtt: Sequence[Sequence[float]],
    use: float = 1.0,
    cores: float = 4.0,
) -> CallGraph:
    """Users enter at workload 0, so many requests a second at each node."""
    size, nodes = len(counts), len(counts[0])
    pairs = tuple(Calls(*each) for each in calls)
    order, cyclic = callers_first(size, pairs)
    entering = np.zeros((size, nodes))
    entering[0] = users
    return CallGraph(
        names=tuple(("default", f"w{number}") for number in range(size)),
        kinds=tuple(PodKind("default", WorkloadKey("default", f"w{number}")) for number in range(size)),
        rows=np.arange(nodes, dtype=np.intp),
        counts=np.array(counts, dtype=np.int64),
        calls=pairs,
        users=entering,
        balance=(0,) * size,
        zones=np.full(nodes, -1, dtype=np.int64),
        rtt=np.array(rtt, dtype=np.float64),
        use=np.full(size, use),
        other=np.zeros(nodes),
        cores=np.full(nodes, cores),
        rate=float(sum(users)),
        order=order,
        cyclic=cyclic,
    )


def limits(application: CallGraph, *, demand: Sequence[float] | None = None, room: float = 1e9) -> Limits:
    size, nodes = application.counts.shape
    wanted = np.ones(size) if demand is None else np.array(demand, dtype=np.float64)
    return Limits(
        allowed=np.ones((size, nodes), dtype=np.bool_),
        demand=wanted[:, np.newaxis],
        free=np.full((nodes, 1), room),
        movable=np.ones(size, dtype=np.bool_),
        price=np.zeros((size, nodes)),
        moving=0.0,
    )


def found(application: CallGraph, within: Limits) -> Ints:
    return Search(application, Prediction(application), within).best()


def all_at(node: int, *, workloads: int, nodes: int, replicas: int = 1) -> list[list[int]]:
    return [[replicas if each == node else 0 for each in range(nodes)] for _ in range(workloads)]


def evenly(nodes: int, rtt: float) -> list[list[float]]:
    return [[0.0 if a == b else rtt for b in range(nodes)] for a in range(nodes)]


def test_of_an_application_that_does_not_fit_those_stay_behind_that_are_called_least() -> None:
    """w0 calls w1..w4 often and w5 seldom; five of the six fit beside the users."""
    calls = [(0, callee, 20.0) for callee in range(1, 5)] + [(0, 5, 0.1)]
    application = graph(
        all_at(0, workloads=6, nodes=2), calls, users=[0.0, 10.0], rtt=evenly(2, 50.0), cores=8.0
    )  # fmt: skip
    there = limits(application)
    there = Limits(
        allowed=there.allowed, demand=there.demand, free=np.array([[100.0], [5.0]]), movable=there.movable,
        price=there.price, moving=0.0,
    )  # fmt: skip
    assert found(application, there)[:, 1].tolist() == [1, 1, 1, 1, 1, 0]


def test_a_large_pod_stays_behind_where_several_small_ones_would_lose_more() -> None:
    """Room for everything but the large one, or for the large one and half of the others."""
    calls = [(0, 1, 10.0), (0, 2, 10.0), (0, 3, 10.0), (0, 4, 8.0)]
    application = graph(all_at(0, workloads=5, nodes=2), calls, users=[0.0, 10.0], rtt=evenly(2, 50.0), cores=8.0)
    base = limits(application, demand=[1, 1, 1, 1, 3])
    there = Limits(
        allowed=base.allowed, demand=base.demand, free=np.array([[100.0], [4.0]]), movable=base.movable,
        price=base.price, moving=0.0,
    )  # fmt: skip
    assert found(application, there)[:, 1].tolist() == [1, 1, 1, 1, 0]


def test_a_site_of_two_small_nodes_serves_what_one_of_them_alone_could_not() -> None:
    """Both are near to the users and to each other; a chain on one of them would wait for CPU longer than it saves."""
    near = [[0.0, 60.0, 60.0], [60.0, 0.0, 1.0], [60.0, 1.0, 0.0]]
    chain = [(number, number + 1, 30.0) for number in range(3)]
    application = graph(
        all_at(0, workloads=4, nodes=3, replicas=2), chain, users=[0.0, 30.0, 0.0], rtt=near, use=430.0, cores=2.0
    )  # fmt: skip
    application = _with_cores(application, [8.0, 2.0, 2.0])
    placed = found(application, limits(application))
    assert placed[:, 0].sum() == 0
    assert placed[:, 1].sum() > 0
    assert placed[:, 2].sum() > 0


def test_two_applications_of_one_group_find_a_node_each_beside_their_users() -> None:
    """Two chains that have nothing to do with each other; no node takes both, and no single pod gains by going alone."""
    nodes = 40
    rtt = np.full((nodes, nodes), 45.0)
    rtt[2:, 2:], rtt[0, 1], rtt[1, 0] = 1.0, 10.0, 10.0
    np.fill_diagonal(rtt, 0.0)
    chains = [(0, 1, 40.0), (1, 2, 40.0), (3, 4, 40.0), (4, 5, 40.0)]
    both = graph(
        all_at(5, workloads=6, nodes=nodes), chains, users=[10.0, *[0.0] * (nodes - 1)], rtt=rtt.tolist()
    )  # fmt: skip
    users = both.users.copy()
    users[3] = users[0]
    both = replace(both, users=users, rate=20.0)
    room = np.full((nodes, 1), 100.0)
    room[:2] = 3.0
    placed = found(both, replace(limits(both), free=room))
    assert sorted([placed[:3, :2].sum(axis=0).tolist(), placed[3:, :2].sum(axis=0).tolist()]) == [[0, 3], [3, 0]]


def near(workload: int, peer: int, rtt: Sequence[Sequence[float]], most: float) -> Near:
    return Near(workload, peer, np.array(rtt) > most)


def test_what_must_be_near_does_not_stay_behind_but_spills_over() -> None:
    """Users at node 1, which takes two of three; node 2 is 10 ms from it, and where they come from 60."""
    rtt = [[0.0, 60.0, 60.0], [60.0, 0.0, 10.0], [60.0, 10.0, 0.0]]
    application = graph(all_at(0, workloads=3, nodes=3), [(0, 1, 10.0), (0, 2, 0.1)], users=[0.0, 10.0, 0.0], rtt=rtt)
    room = replace(limits(application), free=np.array([[100.0], [2.0], [2.0]]), moving=0.5)
    assert found(application, room).argmax(axis=1).tolist() == [1, 1, 0]
    bound = replace(room, near=(near(2, 0, rtt, 30.0), near(0, 2, rtt, 30.0)))
    assert found(application, bound).argmax(axis=1).tolist() == [1, 1, 2]


def test_who_is_too_far_already_may_stay_but_goes_nowhere_else_too_far() -> None:
    rtt = evenly(3, 60.0)
    application = graph([[1, 0, 0], [0, 0, 1]], [(0, 1, 1.0)], users=[0.0, 10.0, 0.0], rtt=rtt)
    fixed = replace(limits(application), movable=np.array([True, False]), near=(near(0, 1, rtt, 30.0),))
    search = Search(application, Prediction(application), fixed)
    stays, goes = application.counts.astype(np.float64), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert np.isfinite(search.cost(stays[np.newaxis])[0])
    assert not np.isfinite(search.cost(goes[np.newaxis])[0])


def _with_cores(application: CallGraph, cores: Sequence[float]) -> CallGraph:
    return replace(application, cores=np.array(cores))


def halfway(between: float) -> list[list[float]]:
    """Node 0 is as far from both sites, which are 50 ms from each other."""
    return [[0.0, between, between], [between, 0.0, 50.0], [between, 50.0, 0.0]]


def test_with_users_at_two_sites_nobody_is_far_where_that_costs_the_others_little() -> None:
    application = graph(all_at(1, workloads=2, nodes=3), [(0, 1, 10.0)], users=[0.0, 5.0, 5.0], rtt=halfway(26.0))
    assert found(application, limits(application))[:, 0].tolist() == [1, 1]


def test_with_users_at_two_sites_everything_is_beside_one_of_them_where_that_saves_much() -> None:
    application = graph(all_at(0, workloads=2, nodes=3), [(0, 1, 10.0)], users=[0.0, 5.0, 5.0], rtt=halfway(40.0))
    assert found(application, limits(application))[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_better_than_what_was_found_by_one_move(seed: int) -> None:
    luck = np.random.default_rng(seed)
    size, nodes = 5, 4
    places = luck.random((nodes, 2)) * 100
    rtt: Floats = np.sqrt(((places[:, np.newaxis] - places) ** 2).sum(axis=2))
    counts = np.zeros((size, nodes), dtype=np.int64)
    for workload in range(size):
        np.add.at(counts[workload], luck.integers(0, nodes, 2), 1)
    calls = [(int(luck.integers(0, callee)), callee, float(luck.integers(1, 20))) for callee in range(1, size)]
    application = graph(
        counts.tolist(), calls, users=[10.0, 0.0, 5.0, 0.0], rtt=rtt.tolist(), use=float(luck.integers(1, 300))
    )
    search = Search(application, Prediction(application), limits(application, room=4.0))
    best = search.best().astype(np.float64)
    least = float(search.cost(best[np.newaxis])[0])
    assert least <= float(search.cost(application.counts[np.newaxis].astype(np.float64))[0])
    for workload in range(size):
        for origin in np.flatnonzero(best[workload]).tolist():
            for target in range(nodes):
                other = best.copy()
                other[workload, origin] -= 1
                other[workload, target] += 1
                assert float(search.cost(other[np.newaxis])[0]) >= least - 1e-6
