"""NetMARKS counts what is co-located, NAS counts how the network is, neither counts both."""

from __future__ import annotations

import pytest

from asking import raw_scores
from builders import cluster, node, pod
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.published.nas import Nas
from ecotone.scheduling.plugins.published.netmarks import NetMarks


def pair(**traffic: float) -> ClusterState:
    return cluster(
        [
            node("a", latencies={"b": 10.0, "c": 40.0}, bandwidths={"b": 1e6}, losses={"b": 1.0, "c": 2.0}),
            node("b"),
            node("c"),
        ],
        [pod("db-0", node="b"), pod("db-1", node="c"), pod("cache-0", node="c")],
        workloads=[Workload(WorkloadKey("default", "web"), traffic=traffic, affinity={"cache": 100.0})],
    )


def test_netmarks_sums_the_traffic_to_peers_on_the_node() -> None:
    state = pair(db=100.0, cache=30.0)
    assert raw_scores(NetMarks(), state, pod("web-0")) == {"a": 0.0, "b": 50.0, "c": 80.0}
    assert raw_scores(NetMarks(perPod=True), state, pod("web-0")) == {"a": 0.0, "b": 100.0, "c": 130.0}
    assert NetMarks().describe(Cycle(state, pod("web-0")), 1, 1e6) == "8 Mbit/s to peers on the node"


def test_netmarks_ignores_static_affinity() -> None:
    assert set(raw_scores(NetMarks(), pair(), pod("web-0")).values()) == {0.0}


def test_nas_adds_three_ratios_and_nothing_on_the_same_node() -> None:
    raw = raw_scores(Nas(), pair(db=1e9), pod("web-0"))
    assert raw is not None
    # From a: db on b at 10 of 40 ms, full bandwidth, 1 of 2 % loss; on c at 40 ms, no bandwidth known, 2 %.
    assert raw["a"] == pytest.approx(-(0.25 + 0.0 + 0.5) - (1.0 + 1.0 + 1.0))
    # From b: nothing to itself; to c no source knows anything, so all three take the worst.
    assert raw["b"] == pytest.approx(-3.0)


def test_nas_does_not_weigh_traffic() -> None:
    assert raw_scores(Nas(), pair(db=1.0), pod("web-0")) == raw_scores(Nas(), pair(db=1e9), pod("web-0"))


def test_nas_without_peers_is_neutral() -> None:
    state = pair()
    assert set(raw_scores(Nas(), state, pod("web-0")).values()) == {0.0}
    assert Nas().describe(Cycle(state, pod("web-0")), 0, 0.0) == "no peers placed yet"
    assert "ms on average to 2 peers" in Nas().describe(Cycle(pair(db=1.0), pod("web-0")), 0, -1.0)
