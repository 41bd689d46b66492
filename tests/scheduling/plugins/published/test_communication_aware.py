"""The messaging use case of the communication-aware paper (figure 5), step by step, and the scorer's edges."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from asking import raw_scores, scores
from builders import cluster, node, pod
from ecotone.model.decisions import Bind
from ecotone.model.errors import InputError
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import decide
from ecotone.scheduling.plugins.published.communication_aware import CommunicationAware

# Priorities of the channels by protocol: HTTP 100, TCP 85, server push 40, AMQP 30.
CHANNELS = {
    "rabbitmq": {},
    "mongodb": {},
    "message-notifier": {"rabbitmq": 30.0},
    "message-reader": {"rabbitmq": 30.0, "mongodb": 85.0},
    "message-publisher": {"rabbitmq": 30.0},
    "api-gateway": {"message-publisher": 100.0, "message-reader": 100.0, "message-notifier": 40.0},
}
# node2 is the closest to node3; node0 and node1 are equally far from both.
LATENCIES = {"node0": {"node1": 10.0, "node2": 20.0, "node3": 30.0}, "node1": {"node2": 20.0, "node3": 30.0}}


def messaging() -> ClusterState:
    links = {**LATENCIES, "node2": {"node3": 5.0}, "node3": {}}
    return cluster(
        [node(name, memory="4G", latencies=latencies) for name, latencies in links.items()],
        workloads=[Workload(WorkloadKey("default", name), affinity=affinity) for name, affinity in CHANNELS.items()],
    )


def arrives(state: ClusterState, service: str) -> dict[str, float]:
    """The scores of the nodes that have room for a new pod of the service."""
    new = pod(f"{service}-0", memory="3G" if service == "rabbitmq" else "1500M")
    state.put_pod(new)
    free = state.nodes.allocatable[:, 1] - state.usage.requested[:, 1]
    room = [name for name, left in zip(state.nodes.names, free, strict=True) if left >= new.spec.request("memory")]
    found = raw_scores(CommunicationAware(), state, new, feasible=room)
    assert found is not None
    return {name: found[name] for name in room}


def goes(state: ClusterState, service: str, target: str) -> None:
    state.assume(state.pending[f"default/{service}-0"], target)


def test_the_messaging_use_case_comes_out_as_the_paper_tells_it() -> None:
    state = messaging()
    assert len(set(arrives(state, "rabbitmq").values())) == 1
    goes(state, "rabbitmq", "node3")

    broker_full = arrives(state, "mongodb")
    assert set(broker_full) == {"node0", "node1", "node2"}
    assert len(set(broker_full.values())) == 1
    goes(state, "mongodb", "node2")

    notifier = arrives(state, "message-notifier")
    assert max(notifier, key=notifier.__getitem__) == "node2"
    goes(state, "message-notifier", "node2")

    reader = arrives(state, "message-reader")
    assert set(reader) == {"node0", "node1"}
    assert reader["node0"] == reader["node1"] == pytest.approx(30 / 30 + 85 / 20)
    goes(state, "message-reader", "node1")

    publisher = arrives(state, "message-publisher")
    assert publisher["node0"] == publisher["node1"] == pytest.approx(30 / 30)
    # The scores tie, so load balancing decides: the default scores prefer the emptier node.
    chosen = decide(state.freeze(), "communication-aware").decisions
    assert [each.node for each in chosen if isinstance(each, Bind)] == ["node0"]
    goes(state, "message-publisher", "node0")

    gateway = arrives(state, "api-gateway")
    gamma = 2 / 5  # twice the largest 1/latency, that of node2 and node3
    assert gateway["node0"] == gateway["node1"] == pytest.approx(gamma * 100 + 100 / 10 + 40 / 20)
    goes(state, "api-gateway", "node1")

    # Later: more is published than read, and a new gateway pod is wanted.
    key = WorkloadKey("default", "api-gateway")
    traffic = {"message-publisher": 5000.0, "message-reader": 1000.0, "message-notifier": 100.0}
    state.put_workload(replace(state.workloads[key], traffic=traffic))
    state.drop_pod("default/api-gateway-0")
    again = arrives(state, "api-gateway")
    assert again["node0"] > again["node1"]
    chosen = decide(state.freeze(), "communication-aware").decisions
    assert [each.node for each in chosen if isinstance(each, Bind)] == ["node0"]


def test_a_peers_own_node_ranks_first_on_a_fast_network_too() -> None:
    """At gamma 1 and 0.3 ms the node of the peer itself would rank below its neighbours."""
    nodes = [node("a", latencies={"b": 0.3, "c": 40.0}), node("b", latencies={"c": 40.0}), node("c")]
    state = cluster(
        nodes, [pod("db-0", node="a")], workloads=[Workload(WorkloadKey("default", "web"), traffic={"db": 5.0})]
    )
    found = raw_scores(CommunicationAware(), state, pod("web-0"))
    assert found is not None
    assert found["a"] > found["b"] > found["c"]
    literal = raw_scores(CommunicationAware(gamma=1.0), state, pod("web-0"))
    assert literal is not None
    assert literal["a"] < literal["b"]


def test_a_channel_that_only_the_other_end_lists_counts_too() -> None:
    state = messaging()
    state.put_pod(pod("message-reader-0", node="node0"))
    found = raw_scores(CommunicationAware(gamma=1.0), state, pod("mongodb-0"))
    assert found is not None
    assert found["node0"] == pytest.approx(85.0)
    assert found["node1"] == pytest.approx(8.5)


def test_what_another_namespace_lists_does_not_move_a_pod() -> None:
    state = messaging()
    state.put_workload(Workload(WorkloadKey("stranger", "spy"), traffic={"default/mongodb": 1e9}))
    state.put_pod(pod("spy-0", node="node0", namespace="stranger"))
    found = raw_scores(CommunicationAware(), state, pod("mongodb-0"))
    assert found is not None
    assert set(found.values()) == {0.0}


def test_gamma_pulls_towards_the_peer_itself() -> None:
    state = messaging()
    state.put_pod(pod("mongodb-0", node="node0"))
    reader = pod("message-reader-0")
    near = raw_scores(CommunicationAware(gamma=3.0), state, reader)
    assert near is not None
    assert near["node0"] == pytest.approx(3.0 * 85)
    assert near["node1"] == pytest.approx(85 / 10)


def test_every_pod_of_a_peer_counts_unless_told_otherwise() -> None:
    state = messaging()
    for number in range(3):
        state.put_pod(pod(f"mongodb-{number}", node="node0"))
    reader = pod("message-reader-0")
    literal, spread = (raw_scores(CommunicationAware(perPod=each), state, reader) for each in (True, False))
    assert literal is not None
    assert spread is not None
    assert literal["node1"] == pytest.approx(3 * spread["node1"])


def test_without_any_latency_the_term_is_neutral() -> None:
    state = messaging()
    state.set_nodes([replace(each, latencies=None) for each in state.nodes.nodes])
    state.put_pod(pod("mongodb-0", node="node0"))
    raw = raw_scores(CommunicationAware(), state, pod("message-reader-0"))
    assert raw is not None
    assert all(math.isnan(value) for value in raw.values())
    assert set(scores(CommunicationAware(), state, pod("message-reader-0")).values()) == {50.0}


def test_weights_may_not_be_negative() -> None:
    with pytest.raises(InputError, match="may not be negative"):
        CommunicationAware(beta=-1.0)
