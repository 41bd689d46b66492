"""What holds of KubeDSM's algorithms on every cluster."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecotone.placement.kubedsm.algorithms.decision import make_decision
from ecotone.placement.kubedsm.algorithms.free_edge import free_edge_as_needed
from ecotone.placement.kubedsm.algorithms.immediate import immediate_schedule
from ecotone.placement.kubedsm.algorithms.match import match
from ecotone.placement.kubedsm.algorithms.reorder import in_order, reorder_edge
from ecotone.placement.kubedsm.algorithms.suggest import choose, suggest
from ecotone.placement.kubedsm.cluster import Cluster, Move, Node, Service
from ecotone.placement.kubedsm.fragmentation import Fragmentation, edge_fragmentation, packed, unused
from ecotone.placement.kubedsm.parameters import Parameters
from ecotone.placement.kubedsm.quality import Jump, Linear, Quality, Relu, quality_of
from ecotone.placement.kubedsm.score import scores, sizes
from placement.kubedsm.clusters import best_packing, clusters

qualities = st.sampled_from([Relu(), Linear(), Jump()])
fragmentations = st.sampled_from([packed, unused])


@given(clusters(), fragmentations)
def test_match_equals_brute_force_over_single_pods(cluster: Cluster, fragmentation: Fragmentation) -> None:
    found = match(cluster, cluster.waiting, fragmentation)
    most, least = best_packing(cluster, cluster.waiting.tolist(), fragmentation)
    assert sum(found.matched) == most
    assert found.fragmentation == pytest.approx(least)
    after = cluster.after(found.bindings)
    assert not after.overcommitted()
    assert edge_fragmentation(after, fragmentation) == pytest.approx(found.fragmentation)


@given(clusters(), qualities)
def test_new_pods_are_placed_as_well_as_any_subset_of_them_could_be(cluster: Cluster, quality: Quality) -> None:
    parameters = Parameters(quality=quality)
    decision, bindings = immediate_schedule(cluster, parameters)
    after = cluster.after(bindings)
    assert not after.overcommitted()
    assert (after.waiting >= 0).all()
    best = decision.before
    pods = [service for service, count in enumerate(cluster.waiting.tolist()) for _ in range(count)]
    for size in range(1, len(pods) + 1):
        for subset in set(combinations(pods, size)):
            wanted = np.bincount(subset, minlength=len(cluster.services))
            if best_packing(cluster, wanted.tolist(), packed)[0] == size:
                best = max(best, quality_of(cluster, quality, on_edge=(cluster.on_edge + wanted).astype(float)))
    assert decision.after == pytest.approx(best)


@given(clusters(most_waiting=0), qualities)
def test_suggestions_end_raise_qos_each_time_and_never_over_commit(cluster: Cluster, quality: Quality) -> None:
    parameters = Parameters(quality=quality)
    now = cluster
    for _ in range(100):
        before = quality_of(now, quality)
        moves = suggest(now, parameters)
        for move in moves:
            assert now.fits(move.service, move.target)
            assert now.movable[move.service, move.origin] > 0
            assert move.origin != move.target
            now = now.after([move])
            assert not now.overcommitted()
        if not moves:
            break
        assert quality_of(now, quality) > before
    else:
        pytest.fail("suggestions never end")
    assert (now.pods == cluster.pods).all()


@given(clusters(most_waiting=0), qualities)
def test_a_suggestion_keeps_within_its_limits(cluster: Cluster, quality: Quality) -> None:
    parameters = Parameters(quality=quality, max_cloud_to_edge=2, max_reorderings=1)
    moves = suggest(cluster, parameters)
    edge = set(cluster.edge.tolist())
    assert sum(move.origin not in edge for move in moves) <= 2
    assert sum(move.origin in edge and move.target in edge for move in moves) <= 1
    assert all(cluster.running[move.service] > 1 for move in moves)


@given(clusters(), st.booleans(), qualities)
def test_qos_never_falls_by_a_decision(cluster: Cluster, migrate: bool, quality: Quality) -> None:
    decision = make_decision(cluster, cluster.waiting, migrate=migrate, parameters=Parameters(quality=quality))
    assert decision.after >= decision.before - 1e-9
    if decision.migrations.all:
        still = make_decision(cluster, cluster.waiting, migrate=False, parameters=Parameters(quality=quality))
        assert decision.after > still.after
    assert not cluster.after(decision.migrations.all).after(decision.to_edge).overcommitted()


@given(clusters(), st.integers(0, 8), st.integers(0, 8))
def test_enough_is_freed_or_everybody_who_may_go_has_gone(cluster: Cluster, cpu: int, memory: int) -> None:
    need = np.array([cpu, memory], float)
    offloads = free_edge_as_needed(cluster, need, Parameters())
    after = cluster.after(offloads)
    assert not after.overcommitted()
    assert all(not cluster.nodes[move.target].edge for move in offloads)
    if (after.free[after.edge].sum(axis=0) < need).any():
        for service in range(len(cluster.services)):
            stays = not after.movable[service, after.edge].any()
            assert cluster.running[service] <= 1 or stays or after.roomiest_cloud(service) is None


@given(clusters(), fragmentations)
def test_reordering_equals_brute_force_over_two_moves(cluster: Cluster, fragmentation: Fragmentation) -> None:
    parameters = Parameters(max_reorderings=2, fragmentation=fragmentation, protect_last=False)
    moves = reorder_edge(cluster, parameters)
    edge = cluster.edge.tolist()
    single = [
        Move(service, origin, target)
        for service in range(len(cluster.services))
        for origin in edge
        for target in edge
        if origin != target
    ]
    best = edge_fragmentation(cluster, fragmentation)
    for size in (1, 2):
        for candidate in combinations([*single, *single], size):
            left = cluster.movable.copy()
            for move in candidate:
                left[move.service, move.origin] -= 1
            if (left >= 0).all() and in_order(cluster, candidate) is not None:
                best = min(best, edge_fragmentation(cluster.after(candidate), fragmentation))
    assert edge_fragmentation(cluster.after(moves), fragmentation) == pytest.approx(best)


def test_size_is_the_geometric_mean_of_the_parts_of_the_largest_edge_node() -> None:
    cluster = Cluster.of(
        [Service("d", (2, 1900)), Service("a", (1, 950))], [Node("n", (4, 3800)), Node("m", (2, 1900))]
    )
    assert sizes(cluster).tolist() == [0.5, 0.25]


def test_equation_1_weighs_the_gain_in_milliseconds_by_size() -> None:
    nodes = [Node("edge", (4, 4)), Node("cloud", (9, 9), edge=False)]
    cluster = Cluster.of([Service("a", (1, 1)), Service("d", (2, 2))], nodes, [[1, 1], [0, 2]])
    found = scores(cluster, Relu(), on_edge=cluster.on_edge.astype(float), step=1)
    assert found.tolist() == [125.0 / 0.25, 125.0 / 0.5]


def test_the_only_pod_of_a_service_is_not_a_candidate() -> None:
    nodes = [Node("edge", (4, 4)), Node("cloud", (9, 9), edge=False)]
    cluster = Cluster.of([Service("a", (1, 1))], nodes, [[0, 1]])
    assert choose(cluster, Parameters()).tolist() == [0]
    assert choose(cluster, Parameters(protect_last=False)).tolist() == [1]


def test_an_edge_pod_makes_room_for_one_that_gains_more() -> None:
    nodes = [Node("edge", (2, 2)), Node("cloud", (9, 9), edge=False)]
    services = [Service("kept", (2, 2), share=0.5), Service("promised", (1, 1), share=1.0)]
    cluster = Cluster.of(services, nodes, [[1, 1], [0, 2]])
    assert suggest(cluster, Parameters(protect_last=False)) == (Move(0, 0, 1), Move(1, 1, 0), Move(1, 1, 0))


def test_a_pod_is_moved_between_edge_nodes_to_let_another_in() -> None:
    nodes = [Node("e1", (4, 4)), Node("e2", (3, 3)), Node("cloud", (9, 9), edge=False)]
    services = [Service("small", (1, 1)), Service("large", (4, 4))]
    cluster = Cluster.of(services, nodes, [[1, 2, 0], [0, 0, 2]])
    assert suggest(cluster, Parameters()) == (Move(0, 0, 1), Move(1, 2, 0))
