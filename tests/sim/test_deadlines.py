"""Deadlines of a scenario's calls reach the policy: hard ones bind it, soft ones cost it."""

from __future__ import annotations

import pytest

from ecotone.scheduling import POLICIES, Profile
from ecotone.sim.control.engine import Engine
from ecotone.sim.scenario import read_scenario
from ecotone.sim.simulation import Simulation

CHATTY = """\
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: chatty}
spec:
  duration: 240s
  cluster:
    nodes:
      - {name: cloud, cpu: "4", memory: 16Gi}
      - {name: edge, cpu: "4", memory: 16Gi}
    network: {default: {rtt: 60ms}}
  application:
    name: chatty
    services:
      - name: web
        pinned: edge
        endpoints: [{name: get, cpu: 1ms, stages: [[{call: api.get, request: 1kB, response: 1kB%s}]]}]
      - name: api
        endpoints: [{name: get, cpu: 1ms, stages: [[{call: db.get, count: 5, request: 1kB, response: 1kB}]]}]
      - {name: db, pinned: cloud, endpoints: [{name: get, cpu: 1ms}]}
  load: [{at: 0s, for: 240s, entry: web.get, from: [edge], arrivals: {poisson: 5}}]
"""
ECOTONE = POLICIES["ecotone"]


@pytest.mark.parametrize(
    ("deadline", "policy", "node"),
    [
        ("", ECOTONE, "cloud"),
        (", deadline: 20ms, soft: true", ECOTONE, "edge"),
        (", deadline: 20ms, soft: true", ECOTONE.with_args("ResponseTime", latePerMs=0.5), "cloud"),
        (", deadline: 20ms", ECOTONE.with_args("LatencyBound", hard=False).with_args("ResponseTime", latePerMs=0.5), "cloud"),
        (", deadline: 100ms", ECOTONE, "cloud"),
    ],
)  # fmt: skip
def test_where_a_service_between_two_ends_up(deadline: str, policy: Profile, node: str) -> None:
    scenario = read_scenario(CHATTY % deadline, file="chatty.yaml")
    outcome = Simulation(scenario, Engine(policy), seed=1).run()
    assert outcome.placement[-1][1]["api"] == {node: 1}


def test_a_pod_waits_rather_than_miss_a_hard_deadline_and_misses_a_soft_one_rather_than_wait() -> None:
    """One by one, api would be placed beside its database before anybody knows of web; looked at together, it never moves.
    Seed 2 creates api first."""
    hard, soft = (
        Simulation(read_scenario(CHATTY % told, file="chatty.yaml"), Engine(ECOTONE), seed=2).run()
        for told in (", deadline: 20ms", ", deadline: 20ms, soft: true")
    )
    assert hard.unplaced == ["web-1"]
    assert soft.unplaced == []
    assert soft.recorder.failed == 0
    assert {tuple(placed["api"].items()) for _, placed in soft.placement} == {(("edge", 1),)}
    assert soft.moves == []
