"""Policy `ecotone`: what its cost means, in situations a person can judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from builders import cluster, node, pod
from ecotone.model.decisions import Bind
from ecotone.model.objects import Measured, Node, Workload, WorkloadKey
from ecotone.model.selectors import NodeAffinity, NodeTerm, Requirement
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide
from ecotone.scheduling.costs import cost
from ecotone.scheduling.costs.channels import channels
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.ecotone.response_time import ResponseTime


def key(name: str) -> WorkloadKey:
    return WorkloadKey("default", name)


def line(**more: object) -> list[Node]:
    return [
        node("edge", latencies={"fog": 10.0, "cloud": 100.0}, **more),  # type: ignore[arg-type]
        node("fog", latencies={"cloud": 90.0}, **more),  # type: ignore[arg-type]
        node("cloud", **more),  # type: ignore[arg-type]
    ]


def network(state: ClusterState, name: str) -> dict[str, float]:
    values = cost.network_ms(state, pod(f"{name}-9").kind)
    return dict(zip(state.nodes.names, values.tolist(), strict=True))


def where(state: ClusterState) -> dict[str, str]:
    return {each.pod: each.node for each in decide(state.freeze(), "ecotone").decisions if isinstance(each, Bind)}


def test_both_callers_and_callees_attract() -> None:
    state = cluster(
        line(),
        [pod("web-0", node="edge"), pod("db-0", node="cloud")],
        workloads=[Workload(key("web"), affinity={"api": 100.0}), Workload(key("api"), affinity={"db": 100.0})],
    )
    assert network(state, "api") == pytest.approx({"edge": 100.0, "fog": 100.0, "cloud": 100.0})
    louder = Workload(key("api"), affinity={"db": 100.0}, traffic={"web": 100.0, "db": 300.0})
    state.put_workload(louder)
    near = network(state, "api")
    assert near["cloud"] == pytest.approx(100.0)
    assert near["edge"] == pytest.approx(300.0)


def test_the_larger_of_both_sides_traffic_counts() -> None:
    state = cluster(
        line(),
        workloads=[
            Workload(key("web"), traffic={"api": 10.0, "users@edge": 40.0}),
            Workload(key("api"), traffic={"web": 20.0}),
        ],
    )
    found = {each.peer[1]: each.traffic for each in channels(state, ("default", "web"))}
    assert found == {"api": 20.0, "users@edge": 40.0}


def test_asynchronous_channels_weigh_less() -> None:
    state = cluster(
        line(),
        [pod("db-0", node="cloud"), pod("log-0", node="edge")],
        workloads=[
            Workload(key("api"), affinity={"db": 100.0, "log": 30.0}, synchronous={"db": True, "log": False}),
        ],
    )
    near = network(state, "api")
    assert near["cloud"] == pytest.approx(0.2 * 100)
    assert near["edge"] == pytest.approx(100)


def test_a_silent_channel_still_counts_a_little() -> None:
    state = cluster(
        line(),
        [pod("db-0", node="cloud")],
        workloads=[Workload(key("api"), affinity={"db": 100.0}, traffic={"users@edge": 5.0})],
    )
    assert network(state, "api") == pytest.approx({"edge": 5.0, "fog": 10.0 + 4.5, "cloud": 100.0})


def test_the_first_pods_look_through_peers_that_have_no_place_yet() -> None:
    """Users at the edge, a database in the cloud that everything ends in, nothing placed in between."""
    state = cluster(
        line(),
        [pod("db-0", node="cloud")],
        workloads=[
            Workload(key("web"), affinity={"api": 100.0}),
            Workload(key("api"), affinity={"store": 100.0}),
            Workload(key("store"), affinity={"db": 100.0}),
        ],
    )
    assert network(state, "web") == pytest.approx({"edge": 100.0, "fog": 90.0, "cloud": 0.0})


def test_a_pinned_peer_is_where_it_will_be() -> None:
    pinned = NodeAffinity(required=(NodeTerm(fields=(Requirement("metadata.name", "In", ("cloud",)),)),))
    state = cluster(
        line(),
        [pod("db-0", spec={"node_affinity": pinned})],
        workloads=[Workload(key("web"), affinity={"db": 100.0})],
    )
    assert network(state, "web")["edge"] == pytest.approx(100.0)


def test_a_busy_node_costs_queueing_time() -> None:
    state = cluster([node("busy", available_cpu=200.0), node("idle", available_cpu=3900.0)])
    kind = pod("web-0", cpu="100m").kind
    busy, idle = cost.cpu_ms(state, kind, state.nodes.all_rows)
    assert busy > 10 > 1 > idle


def test_overload_is_worse_the_more_there_is_of_it_but_finite() -> None:
    shares = np.array([0.5, 0.9, 0.95, 0.99, 1.5, 3.0])
    wait, slope = cost.waiting(shares, np.full(6, 2.0))
    assert (np.diff(wait) > 0).all()
    assert np.isfinite(wait).all()
    assert slope[2] == pytest.approx(slope[5])


def test_waiting_is_the_exact_queue_for_one_core() -> None:
    """Sakasegawa's approximation is exact for M/M/1: u / (1 - u)."""
    wait, slope = cost.waiting(np.array([0.5]), np.array([1.0]))
    assert wait[0] == pytest.approx(1.0)
    assert slope[0] == pytest.approx(4.0)


def test_replicas_spread_when_the_best_node_fills_up() -> None:
    usage = Workload(key("web"), traffic={"users@a": 10.0}, cpu_usage=Measured(900.0))
    state = cluster(
        [node("a", cpu="2", latencies={"b": 2.0}, available_cpu=2000.0), node("b", cpu="2", available_cpu=2000.0)],
        [pod(f"web-{number}", cpu="100m") for number in range(4)],
        workloads=[usage],
    )
    assert sorted(where(state).values()) == ["a", "a", "b", "b"]


def test_price_breaks_what_is_otherwise_equal() -> None:
    state = cluster([node("a", price_per_hour=1.0), node("b", price_per_hour=0.1)], [pod("web-0", cpu="1")])
    assert where(state) == {"default/web-0": "b"}


def test_small_differences_are_left_to_kubernetes_and_large_ones_keep_their_size() -> None:
    raw = np.array([-40.0, -40.9, -44.0, -140.0])
    state = cluster([node("a", available_cpu=1000.0)], [])
    best, unnoticed, noticed, far = ResponseTime().normalize(Cycle(state, pod("x-0")), raw)
    assert best == unnoticed == 100.0
    assert noticed == pytest.approx(100 * 50 / 53, abs=0.01)
    assert far == pytest.approx(100 * 50 / 149, abs=0.01)


def test_an_unmeasured_node_counts_as_used_as_the_most_used_one() -> None:
    nodes = [node("known", available_cpu=1000.0), node("blank"), node("free", available_cpu=4000.0)]
    state = cluster(nodes)
    assert cost.used_share(state, state.nodes.all_rows, by="default").tolist() == [0.75, 0.75, 0.0]


def test_without_any_latency_only_the_cpu_decides() -> None:
    state = cluster(
        [replace(each, latencies=None) for each in line()],
        [pod("db-0", node="cloud", cpu="2")],
        workloads=[Workload(key("web"), traffic={"db": 5.0})],
    )
    assert set(network(state, "web").values()) == {0.0}


def test_the_reason_is_in_milliseconds() -> None:
    state = cluster(
        line(),
        [pod("db-0", node="cloud"), pod("web-0")],
        workloads=[Workload(key("web"), affinity={"db": 100.0})],
    )
    (bind,) = decide(state.freeze(), "ecotone").decisions
    assert isinstance(bind, Bind)
    assert bind.node == "cloud"
    assert "ms per request: 0 ms network" in bind.why


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ([-np.inf, -np.inf], [0.0, 0.0]),
        ([np.nan, np.nan], [0.0, 0.0]),
        ([-10.0, -np.inf, np.nan], [100.0, 0.0, 0.0]),
    ],
)
def test_what_is_out_of_reach_or_unknown_counts_nothing_and_never_spoils_the_total(
    raw: list[float], expected: list[float]
) -> None:
    cycle = Cycle(cluster(line()), pod("web-0"))
    assert ResponseTime().normalize(cycle, np.array(raw)).tolist() == expected
