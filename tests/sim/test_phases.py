"""Phases: where they end, and that one alone is as it was within the whole."""

from __future__ import annotations

from ecotone.sim.scenario.phases import phases, scenario_of
from sim.scenarios import scenario

BODY = """
  duration: 400s
  warmup: 20s
  cluster:
    nodes: [{name: a, cpu: "4", memory: 8Gi}, {name: b, cpu: "4", memory: 8Gi}]
    network: {default: {rtt: 10ms}}
  application:
    name: shop
    services: [{name: web, replicas: 1, endpoints: [{name: get, cpu: 1ms}]}]
    traces: {web: [[0s, 1], [300s, 3]]}
  load:
    - {at: 0s, for: 200s, entry: web.get, from: [a], arrivals: {poisson: 5}}
    - {at: 100s, for: 250s, entry: web.get, from: [b], arrivals: {poisson: 5}}
  events:
    - {at: 150s, link: [a, b], rtt: 70ms}
    - {at: 250s, node: a, state: down}
"""


def test_a_phase_ends_where_load_links_nodes_or_traces_change() -> None:
    found = phases(scenario(BODY))
    assert [(each.start, each.end, each.loads) for each in found] == [
        (0.0, 100.0, (0,)), (100.0, 150.0, (0, 1)), (150.0, 200.0, (0, 1)), (200.0, 250.0, (1,)), (250.0, 300.0, (1,)),
        (300.0, 350.0, (1,)),
    ]  # fmt: skip


def test_what_was_changed_before_a_phase_holds_from_its_beginning() -> None:
    whole = scenario(BODY)
    last = scenario_of(whole, phases(whole)[-1], lead=5.0)
    assert dict(last.network.links)["a", "b"].rtt == 0.07
    assert [(change.node, change.state, change.at) for change in last.node_changes] == [("a", "down", 0.0)]
    assert last.application.service("web").replicas == 3
    assert [load.poisson for load in last.load] == [0.0, 5.0]
    assert last.duration == 55.0
