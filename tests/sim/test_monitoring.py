"""Policies see averages of what was measured, late, and never the truth."""

from __future__ import annotations

import pytest

from ecotone.model import Decisions, Snapshot
from sim.firstfit import FirstFit
from sim.scenarios import run

BODY = """
  duration: 200s
  cluster:
    nodes: [{name: a, cpu: "2", memory: 4Gi}, {name: b, cpu: "1", memory: 4Gi}]
    network: {default: {rtt: 10ms}}
  application:
    name: shop
    services:
      - name: web
        pinned: a
        requests: {cpu: 100m, memory: 1Gi}
        endpoints: [{name: get, cpu: {mean: 10ms, distribution: constant}, stages: [[{call: db.query, protocol: TCP, request: 100B, response: 900B}]]}]
      - {name: db, pinned: b, replicas: 2, endpoints: [{name: query, cpu: {mean: 4ms, distribution: constant}}]}
  load: [{at: 0s, for: 200s, entry: web.get, from: [b], request: 1kB, response: 1kB, arrivals: {users: 50, every: 1s}}]
  control: {node-grace: 20s}
  events: [{at: 100s, link: [a, b], rtt: 50ms}, {at: 150s, node: b, state: down}]
"""  # noqa: E501


class Watcher(FirstFit):
    def __init__(self) -> None:
        self.seen: dict[float, Snapshot] = {}

    def schedule(self, snapshot: Snapshot) -> Decisions:
        self.seen.setdefault(snapshot.now, snapshot)
        return super().schedule(snapshot)

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        self.seen[snapshot.now] = snapshot
        return Decisions(())


@pytest.fixture(scope="module")
def seen() -> dict[float, Snapshot]:
    watcher = Watcher()
    run(BODY, orchestrator=watcher)
    return watcher.seen


def workload(snapshot: Snapshot, name: str):
    return next(each for key, each in snapshot.workloads.items() if key.name == name)


def test_before_anything_ran_nodes_are_known_and_workloads_are_not(seen: dict[float, Snapshot]) -> None:
    first = seen[0.0]
    assert [node.available_cpu for node in first.nodes.nodes] == [2000, 1000]
    assert first.nodes.nodes[0].latencies == {"b": pytest.approx(10)}
    assert workload(first, "web").traffic is None
    assert workload(first, "web").affinity == {"db": 85.0}
    assert workload(first, "db").affinity == {"web": 85.0}  # a channel's priority belongs to both of its ends


def test_usage_is_the_mean_per_pod_over_the_window(seen: dict[float, Snapshot]) -> None:
    at_90 = seen[90.0]
    assert workload(at_90, "web").cpu_usage.value == pytest.approx(500, rel=0.02)
    assert workload(at_90, "db").cpu_usage.value == pytest.approx(100, rel=0.02)
    assert workload(at_90, "web").cpu_usage.at == 90.0
    assert at_90.nodes.nodes[0].available_cpu == pytest.approx(1500, rel=0.02)
    assert at_90.nodes.nodes[0].available_memory == 3 * 2**30


def test_traffic_is_told_to_both_ends_and_users_by_their_node(seen: dict[float, Snapshot]) -> None:
    at_90 = seen[90.0]
    assert workload(at_90, "web").traffic == {
        "db": pytest.approx(50_000, rel=0.02),
        "users@b": pytest.approx(100_000, rel=0.02),
    }
    assert workload(at_90, "db").traffic == {"web": pytest.approx(50_000, rel=0.02)}


def test_a_changed_link_is_seen_slowly(seen: dict[float, Snapshot]) -> None:
    latency = {at: seen[at].nodes.nodes[0].latencies["b"] for at in (90.0, 120.0, 150.0)}  # type: ignore[index]
    assert latency[90.0] == pytest.approx(10)
    # Scrapes at 60, 75, 90 saw 10 ms; those at 105 and 120 saw 50 ms.
    assert latency[120.0] == pytest.approx((3 * 10 + 2 * 50) / 5)


def test_a_silent_node_keeps_its_old_figures_and_their_age(seen: dict[float, Snapshot]) -> None:
    node = seen[180.0].nodes.nodes[1]
    assert not node.ready
    assert node.measured_at is not None and node.measured_at <= 150.0
    assert seen[180.0].nodes.nodes[0].measured_at == 180.0


def test_memory_in_use_is_what_a_service_says_or_else_what_it_requests() -> None:
    watcher = Watcher()
    given = BODY.replace(
        "requests: {cpu: 100m, memory: 1Gi}", "requests: {cpu: 100m, memory: 1Gi}\n        memory: {use: 80Mi}"
    )
    assert given != BODY
    run(given, orchestrator=watcher)
    then = watcher.seen[90.0]
    assert workload(then, "web").memory_usage.value == 80 * 2**20
    assert then.nodes.nodes[0].available_memory == 4 * 2**30 - 80 * 2**20
    assert workload(then, "db").memory_usage is None
    asked = Watcher()
    run(BODY, orchestrator=asked)
    assert workload(asked.seen[90.0], "web").memory_usage.value == 2**30
