"""The Sophos terms: figures in units, fallbacks, combining, queue order."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import raw_scores, scores
from builders import cluster, node, pod
from ecotone.descheduling import deschedule
from ecotone.model.errors import InputError
from ecotone.model.objects import Measured, Pod, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, Evaluation, framework_of
from ecotone.scheduling.explanation import document, explain
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.published.index_sort import IndexSort
from ecotone.scheduling.plugins.published.network_aware import NetworkAware
from ecotone.scheduling.plugins.published.resource_aware import ResourceAware
from reference import sophos
from reference.random_worlds import new_pod, random_world

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
    assert raw_scores(NetworkAware(static=False), state, pod("web-0"))["cloud"] == -500.0


def test_a_peer_weighs_once_however_many_replicas_it_has() -> None:
    state = three_tiers(traffic={"db": 10.0})
    state.put_pod(pod("db-1", node="fog"))
    assert raw_scores(NetworkAware(), state, pod("web-0")) == {"edge": -550.0, "fog": -450.0, "cloud": -450.0}
    literal = raw_scores(NetworkAware(perPod=True), state, pod("web-0"))
    assert literal == {"edge": -1100.0, "fog": -900.0, "cloud": -900.0}


def test_own_replicas_are_peers_only_if_listed() -> None:
    state = three_tiers(traffic={"db": 0.0})
    state.put_pod(pod("web-0", node="edge"))
    assert set(raw_scores(NetworkAware(), state, pod("web-1")).values()) == {0.0}
    state.put_workload(Workload(WEB, traffic={"web": 1.0}))
    assert raw_scores(NetworkAware(), state, pod("web-1"))["cloud"] == -100.0
    assert NetworkAware().placement_changes(Cycle(state, pod("web-1"))) == "everything"


def test_without_any_latency_the_network_term_is_unknown() -> None:
    state = three_tiers(traffic={"db": 10.0})
    state.set_nodes([replace(each, latencies=None) for each in state.nodes.nodes])
    raw = raw_scores(NetworkAware(), state, pod("web-0"))
    assert raw is not None
    assert all(math.isnan(value) for value in raw.values())
    assert set(scores(NetworkAware(), state, pod("web-0")).values()) == {50.0}
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


def by_hand() -> ClusterState:
    """web uses 500m and 256 MiB; one db on cloud, two carts on fog; users at edge; 1, 2 and 3 cores available."""
    state = three_tiers(
        cpu_usage=Measured(500.0),
        memory_usage=Measured(2.0**28),
        affinity={"db": 100.0, "cart": 30.0},
        traffic={"db": 2.0, "users@edge": 5.0},
    )
    for number in range(2):
        state.put_pod(pod(f"cart-{number}", node="fog"))
    state.put_pod(pod("web-0"))
    return state


# Half of 100 % for every 500m of CPU above its use, half of 100 % for every 256 MiB above its memory.
RA = {"edge": 50.0 + 150.0, "fog": 150.0 + 150.0, "cloud": 250.0 + 150.0}
# Latency times affinity: db counts 102 at cloud, each of two carts 30 at fog, users 5 at edge
NA = {
    "edge": -(102.0 * 100 + 2 * 30 * 10),
    "fog": -(102.0 * 90 + 5 * 10),
    "cloud": -(2 * 30 * 90.0 + 5 * 100),
}


def test_the_formula_of_the_thesis_on_given_annotations_gives_the_published_sum() -> None:
    state = by_hand()
    answer = document(explain(state.freeze(), "sophos", "default/web-0"))
    defaults = {
        each["name"]: sum(term["weight"] * term["normalized"] for term in each["scores"].values())
        for each in document(explain(state.freeze(), "kube-default", "default/web-0"))["nodes"]
    }
    totals = {}
    for each in answer["nodes"]:
        name, terms = each["name"], each["scores"]
        assert terms["ResourceAware"] == {"raw": RA[name], "normalized": RA[name], "weight": 0.5}
        assert terms["NetworkAware"] == {"raw": NA[name], "normalized": NA[name], "weight": 0.5}
        totals[name] = 0.5 * RA[name] + 0.5 * NA[name] + defaults[name]
        assert each["total"] == pytest.approx(totals[name])
    assert answer["node"] == max(totals, key=lambda name: totals[name]) == "cloud"


def test_sophos_decides_by_the_literal_sum_where_the_normalized_form_decides_otherwise() -> None:
    """The node with most available resources is left for the one with least, which min-max can never do."""
    state = three_tiers(cpu_usage=Measured(500.0), memory_usage=Measured(2.0**28), traffic={"users@edge": 1000.0})
    state.put_pod(pod("web-0"))

    def node_by(policy: str) -> str | None:
        return explain(state.freeze(), policy, "default/web-0").node

    assert node_by("sophos") == "edge"
    assert node_by("sophos-normalized") != "edge"


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_judge_of_the_descheduler_is_algorithm_1_alone(seed: int) -> None:
    world = random_world(seed)
    new, state = new_pod(world), world.state()
    expected = sophos.score(world, new)
    profile = POLICIES["sophos"]
    assert profile.descheduler is not None
    judge = framework_of(profile).judge(score=profile.descheduler.score, queue_sort=profile.descheduler.queue_sort)
    evaluation = Evaluation(judge, Cycle(state, new))
    found = evaluation.total()
    unknown = any(math.isnan(each) for each in expected)
    for row, total in zip(evaluation.feasible.tolist(), found.tolist(), strict=True):
        assert total == pytest.approx(0.5 * sophos.ra(world, new)[row] if unknown else expected[row], rel=1e-9)


def running(name: str, node_name: str, **fields: Any) -> Pod:
    return replace(pod(name, node=node_name, **fields), phase="Running", ready=True, owner="rs")


def test_an_evicted_pod_stops_being_a_peer_for_those_judged_after_it() -> None:
    """Users pull web to edge; api follows web alone. Once web is evicted nothing pulls api any more, so it stays."""
    state = three_tiers(traffic={"users@edge": 1e6, "api": 1.0})
    state.put_workload(Workload(WorkloadKey("default", "api"), traffic={"web": 1e6}))
    state.put_pod(running("web-0", "cloud", app_group="shop", index=0))
    state.put_pod(running("api-0", "cloud", app_group="shop", index=1))
    assert [(each.pod, each.target) for each in deschedule(state.freeze(), "sophos").decisions] == [
        ("default/web-0", "edge")
    ]
    moved = deschedule(state.freeze(), "sophos-normalized").decisions
    assert moved[0].pod == "default/web-0"


def test_the_figures_of_nodes_stay_as_they_were_when_the_run_began() -> None:
    """Both replicated workloads leave cloud for the emptier node, although the first one's usage would fill it."""
    state = cluster(
        [
            node("empty", available_cpu=3000.0, available_memory=2.0**31),
            node("full", available_cpu=100.0, available_memory=2.0**31),
        ],
        workloads=[Workload(WorkloadKey("default", name), cpu_usage=Measured(2000.0)) for name in ("a", "b")],
        now=1000.0,
    )
    for name in ("a", "b"):
        state.put_pod(running(f"{name}-0", "full"))
    evicted = {each.pod for each in deschedule(state.freeze(), "sophos").decisions}
    assert evicted == {"default/a-0", "default/b-0"}


def test_the_dag_form_knows_neither_static_affinity_nor_proxies_nor_an_order() -> None:
    state = three_tiers(affinity={"db": 100.0}, traffic={"db": 1.0, "users@edge": 1e6})
    state.put_pod(pod("web-0"))
    terms = {
        each["name"]: each["scores"]
        for each in document(explain(state.freeze(), "sophos-dag", "default/web-0"))["nodes"]
    }
    assert terms["edge"]["NetworkAware"]["raw"] == -100.0
    sorter = framework_of(POLICIES["sophos-dag"]).sorter
    assert sorter is not None
    assert sorter.name == "PrioritySort"
    ordered = framework_of(POLICIES["sophos-dag-ordered"]).sorter
    assert ordered is not None
    assert ordered.name == "IndexSort"


def test_a_services_proxy_is_no_peer_in_the_dag_form() -> None:
    state = three_tiers(traffic={"db": 1.0})
    state.put_workload(Workload(WorkloadKey("default", "db"), external=True))
    assert set(raw_scores(NetworkAware(proxies=False), state, pod("web-0")).values()) == {0.0}


def test_the_unit_of_traffic_can_be_changed() -> None:
    state = three_tiers(affinity={"db": 1.0}, traffic={"db": 1000.0})
    assert raw_scores(NetworkAware(trafficScale=0.001), state, pod("web-0"))["edge"] == pytest.approx(-200.0)
    with pytest.raises(InputError, match="trafficScale"):
        NetworkAware(trafficScale=0.0)


apps = st.sampled_from(("web", "api", "db"))
queued = st.builds(
    lambda name, number, group, index, priority, created: pod(
        f"{name}-{number}", app_group=group, index=index, created=created, spec={"priority": priority}
    ),
    apps, st.integers(0, 3), st.sampled_from((None, "shop", "bank")), st.none() | st.integers(0, 2),
    st.sampled_from((0, 0, 100)), st.integers(0, 3).map(float),
)  # fmt: skip


@given(st.lists(queued, unique_by=lambda each: each.key))
def test_queue_order_is_index_within_the_group_then_priority_then_arrival(pods: list[Pod]) -> None:
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
