"""Random, round-robin, first-fit and the tier baselines."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from builders import cluster, node, pod
from ecotone.model.decisions import Bind
from ecotone.model.errors import InputError
from ecotone.model.objects import Node
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.baselines.round_robin import RoundRobin
from ecotone.scheduling.plugins.baselines.tier_order import TierOrder


def placed(state: ClusterState, policy: str) -> list[str]:
    return [each.node for each in decide(state.freeze(), policy).decisions if isinstance(each, Bind)]


def test_random_is_uniform_and_depends_on_the_seed_alone() -> None:
    state = cluster([node(name) for name in "abcd"], [pod(f"web-{n}", cpu="1m") for n in range(200)], seed=1)
    counts = Counter(placed(state, "random"))
    assert set(counts) == set("abcd")
    assert min(counts.values()) > 25
    assert placed(state, "random") == placed(state, "random")
    other = cluster([node(name) for name in "abcd"], [pod(f"web-{n}", cpu="1m") for n in range(200)], seed=2)
    assert placed(state, "random") != placed(other, "random")


def test_a_draw_does_not_depend_on_other_nodes() -> None:
    pods = [pod(f"web-{n}", cpu="1m") for n in range(30)]
    few = dict(zip((p.key for p in pods), placed(cluster([node(n) for n in "ab"], pods), "random"), strict=True))
    more = dict(zip((p.key for p in pods), placed(cluster([node(n) for n in "abc"], pods), "random"), strict=True))
    assert all(more[key] in (few[key], "c") for key in few)


def test_round_robin_takes_turns_and_remembers_where_it_was() -> None:
    state = cluster([node(name) for name in "bca"], [pod(f"web-{n}") for n in range(4)])
    first = decide(state.freeze(), "round-robin")
    assert [each.node for each in first.decisions if isinstance(each, Bind)] == ["a", "b", "c", "a"]
    state.memory = dict(first.memory)
    assert placed(state, "round-robin") == ["b", "c", "a", "b"]
    state.drop_node("a")
    assert placed(state, "round-robin") == ["b", "c", "b", "c"]


def test_round_robin_skips_what_does_not_fit() -> None:
    nodes = [node("a"), node("b", cpu="100m"), node("c")]
    assert placed(cluster(nodes, [pod(f"web-{n}", cpu="1") for n in range(3)]), "round-robin") == ["a", "c", "a"]


def test_first_fit_is_the_first_name_that_fits() -> None:
    nodes = [node("c"), node("b", cpu="1"), node("a", cpu="100m")]
    assert placed(cluster(nodes, [pod(f"web-{n}", cpu="1") for n in range(2)]), "first-fit") == ["b", "c"]


def tiers(**edge: str) -> list[Node]:
    return [
        *(node(name, tier="edge", memory=memory) for name, memory in edge.items()),
        node("cloud-1", tier="cloud"),
        node("cloud-2", tier="cloud"),
        node("nowhere"),
    ]


def test_cloud_first_draws_among_cloud_nodes_until_they_are_full() -> None:
    state = cluster(tiers(e1="4Gi"), [pod(f"web-{n}", cpu="1") for n in range(12)])
    where = placed(state, "cloud-first")
    assert set(where[:8]) == {"cloud-1", "cloud-2"}
    assert where[8:] == ["e1"] * 4


def test_biggest_and_smallest_edge_first() -> None:
    pods = [pod(f"web-{n}", memory="1Gi") for n in range(5)]
    assert placed(cluster(tiers(e1="2Gi", e2="3Gi"), pods), "biggest-edge-first")[:3] == ["e2", "e1", "e2"]
    where = placed(cluster(tiers(e1="2Gi", e2="3Gi"), pods), "smallest-edge-first")
    assert where == ["e1", "e1", "e2", "e2", "e2"]
    full = placed(cluster(tiers(e1="1Gi"), pods), "biggest-edge-first")
    assert full[0] == "e1"
    assert set(full[1:]) <= {"cloud-1", "cloud-2"}


def test_first_within_the_tier() -> None:
    state = cluster(tiers(e2="4Gi", e1="4Gi"), [pod("web-0")])
    plugin = TierOrder(first="edge", then="first")
    raw = plugin.score(Cycle(state, pod("web-0")), state.nodes.all_rows)
    assert raw[1] > raw[0]
    assert plugin.describe(Cycle(state, pod("web-0")), 0, 0.0) == "edge tier"
    bare = replace(state.nodes.nodes[0], tier=None)
    assert plugin.describe(Cycle(cluster([bare]), pod("web-0")), 0, 0.0) == "no tier"


def test_unknown_words_are_refused() -> None:
    with pytest.raises(InputError, match="TierOrder"):
        TierOrder(first="moon")


def test_a_place_that_is_given_back_keeps_its_turn() -> None:
    state = cluster([node("a"), node("b")])
    plugin, cycle = RoundRobin(), Cycle(state, pod("web-0"))
    state.memory["RoundRobin"] = "a"
    plugin.reserve(cycle, 1)
    assert state.memory["RoundRobin"] == "b"
    plugin.unreserve(cycle, 1)
    plugin.unreserve(cycle, 1)
    assert state.memory["RoundRobin"] == "a"


def test_a_round_robin_plugin_keeps_its_turn_in_the_memory_of_the_policy_and_nowhere_else() -> None:
    plugin = RoundRobin()
    first, second = cluster([node("a"), node("b")]), cluster([node("a"), node("b")])
    plugin.reserve(Cycle(first, pod("web-0")), 0)
    assert list(plugin.score(Cycle(first, pod("web-1")), first.nodes.all_rows)) == [1.0, 2.0]
    assert list(plugin.score(Cycle(second, pod("web-1")), second.nodes.all_rows)) == [2.0, 1.0]
