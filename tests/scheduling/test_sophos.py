"""The Sophos terms: figures in units, fallbacks, combining, queue order."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import raw_scores, scores
from builders import cluster, node, pod
from ecotone.model.errors import InputError
from ecotone.model.objects import Measured, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, Evaluation, Profile, Use, decide, framework_of
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.index_sort import IndexSort
from ecotone.scheduling.plugins.network_aware import NetworkAware
from ecotone.scheduling.plugins.resource_aware import ResourceAware
from ecotone.scheduling.policies import KUBERNETES
from reference import sophos

WEB = WorkloadKey("default", "web")


def three_tiers(**web: object) -> ClusterState:
    links = {"edge": {"fog": 10.0, "cloud": 100.0}, "fog": {"cloud": 90.0}, "cloud": {}}
    return cluster(
        [
            node(name, latencies=latencies, available_cpu=1000.0 * (place + 1), available_memory=2.0**30)
            for place, (name, latencies) in enumerate(links.items())
        ],
        [pod("db-0", node="cloud")],
        workloads=[Workload(WEB, **web)],  # type: ignore[arg-type]
        now=1000.0,
    )


def test_resource_term_is_the_percentage_left_over() -> None:
    state = three_tiers(cpu_usage=Measured(500.0), memory_usage=Measured(2.0**28))
    assert raw_scores(ResourceAware(alpha=1), state, pod("web-0")) == {"edge": 100.0, "fog": 300.0, "cloud": 500.0}
    assert raw_scores(ResourceAware(alpha=0), state, pod("web-0")) == {"edge": 300.0, "fog": 300.0, "cloud": 300.0}


@pytest.mark.parametrize(
    ("usage", "requests", "expected"),
    [
        (Measured(500.0), {"cpu": "250m"}, 500.0),
        (Measured(0.0), {"cpu": "250m"}, 250.0),
        (Measured(math.nan), {"cpu": "250m"}, 250.0),
        (Measured(500.0, at=1.0), {"cpu": "250m"}, 250.0),
        (None, {}, 100.0),
        (Measured(0.0), {}, 100.0),
    ],
)
def test_usage_falls_back_to_the_request_then_to_a_default(
    usage: Measured | None, requests: dict[str, str], expected: float
) -> None:
    state = three_tiers(cpu_usage=usage)
    found = ResourceAware().usage(Cycle(state, pod("web-0", **requests)))  # type: ignore[arg-type]
    assert found[0] == expected


def test_shares_must_add_up() -> None:
    with pytest.raises(InputError, match="add up to 1"):
        ResourceAware(alpha=0.7, beta=0.7)
    with pytest.raises(InputError, match="combine"):
        ResourceAware(combine="sum")


def test_network_term_weighs_latency_with_both_affinities() -> None:
    state = three_tiers(affinity={"db": 100.0}, traffic={"db": 20.0, "users@edge": 5.0})
    expected = {"edge": -(120.0 * 100), "fog": -(120.0 * 90 + 5 * 10), "cloud": -(5.0 * 100)}
    assert raw_scores(NetworkAware(), state, pod("web-0")) == expected
    assert raw_scores(NetworkAware(static=False), state, pod("web-0"))["cloud"] == -500.0  # type: ignore[index]


def test_a_peer_weighs_once_however_many_replicas_it_has() -> None:
    state = three_tiers(traffic={"db": 10.0})
    state.put_pod(pod("db-1", node="fog"))
    assert raw_scores(NetworkAware(), state, pod("web-0")) == {"edge": -550.0, "fog": -450.0, "cloud": -450.0}
    literal = raw_scores(NetworkAware(perPod=True), state, pod("web-0"))
    assert literal == {"edge": -1100.0, "fog": -900.0, "cloud": -900.0}


def test_own_replicas_are_peers_only_if_listed() -> None:
    state = three_tiers(traffic={"db": 0.0})
    state.put_pod(pod("web-0", node="edge"))
    assert set(raw_scores(NetworkAware(), state, pod("web-1")).values()) == {0.0}  # type: ignore[union-attr]
    state.put_workload(Workload(WEB, traffic={"web": 1.0}))
    assert raw_scores(NetworkAware(), state, pod("web-1"))["cloud"] == -100.0  # type: ignore[index]
    assert NetworkAware().placement_changes(Cycle(state, pod("web-1"))) == "everything"


def test_without_any_latency_the_network_term_is_unknown() -> None:
    state = three_tiers(traffic={"db": 10.0})
    state.set_nodes([replace(each, latencies=None) for each in state.nodes.nodes])
    raw = raw_scores(NetworkAware(), state, pod("web-0"))
    assert raw is not None
    assert all(math.isnan(value) for value in raw.values())
    assert set(scores(NetworkAware(), state, pod("web-0")).values()) == {50.0}  # type: ignore[union-attr]
    assert NetworkAware().describe(Cycle(state, pod("web-0")), 0, math.nan) == "no latency known"


def test_explanations_are_in_human_units() -> None:
    state = three_tiers(traffic={"db": 10.0}, cpu_usage=Measured(250.0), memory_usage=Measured(2.0**26))
    cycle = Cycle(state, pod("web-0"))
    assert NetworkAware().describe(cycle, 0, -1000.0) == "100 ms on average to peers on 1 nodes"
    assert ResourceAware().describe(cycle, 0, 0.0) == "1 CPU and 1Gi available for 250m and 64Mi"
    silent = three_tiers()
    assert NetworkAware().describe(Cycle(silent, pod("web-0")), 0, 0.0) == "no peers placed yet"


def test_a_guessed_latency_is_said_to_be_one() -> None:
    state = three_tiers(traffic={"db": 10.0})
    state.put_node(node("new"))
    cycle = Cycle(state, pod("web-0"))
    raw = NetworkAware().score(cycle, state.nodes.all_rows)
    assert raw[3] == -1000.0
    assert NetworkAware().describe(cycle, 3, -1000.0).endswith("100% of them not measured")


def test_combine_raw_is_the_literal_weighted_sum() -> None:
    base = POLICIES["sophos"]
    literal = base.with_args("ResourceAware", combine="raw").with_args("NetworkAware", combine="raw")
    state = three_tiers(traffic={"db": 10.0})
    evaluation = Evaluation(framework_of(literal), Cycle(state, pod("web-0")))
    ra = raw_scores(ResourceAware(), state, pod("web-0"))
    na = raw_scores(NetworkAware(), state, pod("web-0"))
    assert ra is not None
    assert na is not None
    expected = [0.5 * ra[name] + 0.5 * na[name] for name in state.nodes.names]
    assert evaluation.total().tolist() == pytest.approx(expected)


def test_the_released_configuration_adds_the_default_scores() -> None:
    """`defaults: full` as data: both terms beside Kubernetes' own, with its weights."""
    terms = (Use("ResourceAware", 0.5), Use("NetworkAware", 0.5))
    uses = tuple(use for use in KUBERNETES if use.name != "PrioritySort")
    full = Profile("sophos-full", enabled=(*uses, Use("IndexSort"), *terms))
    names = {scorer.name for scorer in framework_of(full).scorers}
    assert {"ResourceAware", "NetworkAware", "NodeResourcesFit", "ImageLocality", "InterPodAffinity"} <= names
    state = three_tiers(traffic={"db": 10.0})
    state.put_pod(pod("web-0"))
    assert len(decide(state.freeze(), full).decisions) == 1


apps = st.sampled_from(("web", "api", "db"))
queued = st.builds(
    lambda name, number, group, index, priority, created: pod(
        f"{name}-{number}", app_group=group, index=index, created=created, spec={"priority": priority}
    ),
    apps, st.integers(0, 3), st.sampled_from((None, "shop", "bank")), st.none() | st.integers(0, 2),
    st.sampled_from((0, 0, 100)), st.integers(0, 3).map(float),
)  # fmt: skip


@given(st.lists(queued, unique_by=lambda each: each.key))
def test_queue_order_is_index_within_the_group_then_priority_then_arrival(pods: list) -> None:
    state = ClusterState()
    assert IndexSort().order(state, pods) == sophos.order(pods)
    for each in pods:
        state.put_pod(each)
    by_key = sorted(pods, key=lambda each: IndexSort().sort_key(state, each))
    assert by_key == IndexSort().order(state, pods)


def test_pods_without_index_come_last_in_their_group_only() -> None:
    pods = [
        pod("late-0", app_group="shop", created=1.0),
        pod("db-0", app_group="shop", index=2, created=2.0),
        pod("web-0", app_group="shop", index=0, created=3.0),
        pod("alone-0", created=2.5),
    ]
    order = [each.name for each in IndexSort().order(ClusterState(), pods)]
    assert order == ["web-0", "db-0", "late-0", "alone-0"]
