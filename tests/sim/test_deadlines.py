"""Deadlines of a scenario's calls reach the policy: hard ones bind it, soft ones cost it."""

from __future__ import annotations

import pytest

from ecotone.scheduling import POLICIES, Profile
from ecotone.sim.control.engine import Engine
from ecotone.sim.scenario import read_scenario
from ecotone.sim.simulation import Outcome, Simulation

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


HARD = ", deadline: 20ms"
SEEDS = range(1, 7)  # each creates the pods in an order of its own


def chatty(deadline: str, *, replicas: int = 1, web_at: int = 0, **pinned: str) -> str:
    """`web_at`: seconds until the pods of web are created; `pinned`: where services are pinned besides."""
    text = CHATTY % deadline
    for name, node in pinned.items():
        text = text.replace(f"- name: {name}\n", f"- name: {name}\n        pinned: {node}\n")
    text = text.replace("- name: api\n", f"- name: api\n        replicas: {replicas}\n")
    text = text.replace("- name: web\n", f"- name: web\n        replicas: {0 if web_at else replicas}\n")
    trace = f"    traces: {{web: [[{web_at}s, {replicas}]]}}\n" if web_at else ""
    return text.replace("    services:\n", f"{trace}    services:\n")


def run(text: str, seed: int) -> Outcome:
    return Simulation(read_scenario(text, file="chatty.yaml"), Engine(ECOTONE), seed=seed).run()


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_pods_that_must_be_near_each_other_all_find_places_whichever_was_created_first(
    seed: int, replicas: int
) -> None:
    """One by one, api would be placed beside its database, where web could not follow."""
    outcome = run(chatty(HARD, replicas=replicas), seed)
    assert outcome.unplaced == []
    assert {tuple(placed["api"].items()) for _, placed in outcome.placement} == {(("edge", replicas),)}
    assert outcome.moves == []
    assert outcome.recorder.failed == 0


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_running_pods_make_way_for_one_that_comes_later_and_must_be_near_them(seed: int, replicas: int) -> None:
    """Before web comes, api is best off beside its database."""
    outcome = run(chatty(HARD, replicas=replicas, web_at=60), seed)
    assert outcome.placement[0][1]["api"].get("cloud", 0) > 0
    assert outcome.unplaced == []
    assert outcome.placement[-1][1] == {"web": {"edge": replicas}, "api": {"edge": replicas}, "db": {"cloud": 1}}
    assert {each.service for each in outcome.moves} == {"api"}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_pod_waits_rather_than_miss_a_hard_deadline_and_misses_a_soft_one_rather_than_wait(seed: int) -> None:
    """Both ends are pinned, 60 ms apart: no placement keeps 20 ms."""
    hard, soft = (run(chatty(told, api="cloud"), seed) for told in (HARD, f"{HARD}, soft: true"))
    assert len(hard.unplaced) == 1
    assert hard.unplaced[0] in ("web-1", "api-1")
    assert hard.moves == []
    assert soft.unplaced == []
    assert soft.recorder.failed == 0
    assert soft.moves == []


@pytest.mark.parametrize("seed", SEEDS)
def test_with_a_soft_deadline_pods_are_placed_together_and_stay(seed: int) -> None:
    outcome = run(chatty(f"{HARD}, soft: true"), seed)
    assert outcome.unplaced == []
    assert {tuple(placed["api"].items()) for _, placed in outcome.placement} == {(("edge", 1),)}
    assert outcome.moves == []
