"""The scenarios that ship: all of them can be read and run, and say what their papers say."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import pytest

from ecotone.model import Decisions, Snapshot
from ecotone.placement.problem.taxi import CLOUD_MS, CLOUD_TYPES, LINKS_MS, PODS
from ecotone.sim.control.engine import Engine
from ecotone.sim.scenario import builtin_scenarios, load_scenario, read_scenario
from ecotone.sim.scenario.families.kubedsm import FAMILY, even_shares
from ecotone.sim.simulation import Simulation
from sim.scenarios import run


@pytest.mark.parametrize("name", sorted(builtin_scenarios()))
def test_each_places_its_pods_and_answers(name: str) -> None:
    scenario = load_scenario(name)
    outcome = Simulation(
        replace(scenario, duration=scenario.warmup + 20.0), Engine("ecotone", moves=False), seed=1
    ).run()
    assert scenario.name == name
    assert scenario.description
    assert outcome.unplaced == []
    assert outcome.recorder.samples.count > 0.9 * outcome.recorder.sent > 0


def test_the_contract_s_families_are_all_there() -> None:
    names = set(builtin_scenarios())
    assert {f"sock-shop-{latency}ms" for latency in (10, 100, 200, 300, 500)} <= names
    assert {"dag-workflow", "messaging", "pogonip-1", "pogonip-2"} <= names
    assert sum(name.startswith("kubedsm-") for name in names) == 10


def test_pogonip_2_has_the_published_cluster_and_eight_applications() -> None:
    scenario = load_scenario("pogonip-2")
    assert len(scenario.nodes) == 7 + 10 * len(CLOUD_TYPES)
    links = {frozenset(pair): link.rtt for pair, link in scenario.network.links}
    for a, b, ms in LINKS_MS:
        assert links[frozenset((a, b))] == pytest.approx(ms / 1000)
    simulation = Simulation(scenario, Engine("kube-default"), seed=1)
    index = {node.name: node.index for node in simulation.nodes}
    for name in ("small-1", "medium-7", "large-10"):
        assert simulation.network.rtt(index["cn"], index[name]) == pytest.approx(CLOUD_MS / 1000)
    assert simulation.network.rtt(index["small-3"], index["large-4"]) == 0.0
    groups: dict[str | None, list[tuple[int | None, int | None]]] = {}
    for service in scenario.application.services:
        groups.setdefault(service.group, []).append((service.cpu_request, service.memory_request))
    assert len(groups) == 8
    for sizes in groups.values():
        assert sizes == [(cpu, memory * 2**20) for _, cpu, memory in PODS]


def test_policies_see_the_applications_of_pogonip_2_apart() -> None:
    """The exact solver places all eight as the paper says: 20 pods on the edge, 20 in the cloud."""
    scenario = replace(load_scenario("pogonip-2"), duration=31.0)
    outcome = Simulation(scenario, Engine("pogonip-opt"), seed=1).run()
    tiers = {node.name: node.tier for node in scenario.nodes}
    counts = {"edge": 0, "cloud": 0}
    for where in outcome.placement[0][1].values():
        for node, pods in where.items():
            counts[tiers[node] or ""] += pods
    assert counts == {"edge": 20, "cloud": 20}


def test_kubedsm_s_replica_counts_have_the_mean_they_are_named_after() -> None:
    assert even_shares() == {"a": 3.0, "b": 2.1875, "c": 3.0, "d": 1.5}  # as the published generator computes them
    for service, share in even_shares().items():
        drawn = [counts[service] for each in FAMILY if each.mean == 1.5 for counts in each.cycles()]
        assert sum(drawn) / len(drawn) == pytest.approx(1.5 * share, rel=0.15)
    assert FAMILY[0].text() == FAMILY[0].text()


def test_kubedsm_s_autoscalers_follow_the_load_to_the_drawn_counts() -> None:
    """At the end of a cycle there are as many pods as were drawn, or one more where that is within the tolerance."""
    each = FAMILY[2]
    outcome = Simulation(read_scenario(each.text(), file="text"), Engine("kube-default", moves=False), seed=1).run()
    there = {at: {name: sum(nodes.values()) for name, nodes in where.items()} for at, where in outcome.placement}
    for number, drawn in enumerate(each.cycles()):
        late, begin = there[120.0 + 90 * number + 75], there[120.0 + 90 * number]
        for service, count in drawn.items():
            assert late[service] == count or (late[service] == begin[service] and abs(count / late[service] - 1) <= 0.1)
    assert there[120.0] == dict.fromkeys("abcd", 1), "an autoscaler sees the load only when it has come"


def test_kubedsm_s_loads_can_be_replayed_with_the_drawn_counts() -> None:
    driven, replayed = (read_scenario(text, file="text") for text in (FAMILY[0].text(3), FAMILY[0].replayed(3)))
    assert set(driven.application.autoscale) == set(replayed.application.traces) == set("abcd")
    assert driven.load == replayed.load
    assert dict(replayed.application.traces["a"])[120.0] == FAMILY[0].cycles(3)[0]["a"]


def test_only_kubedsm_s_own_services_come_onto_its_tainted_edge() -> None:
    text = FAMILY[0].replayed().replace("startup: 5s, tolerates: [ecotone.dev/edge]", "startup: 5s", 1)
    outcome = Simulation(replace(read_scenario(text, file="text"), duration=200.0), Engine("ecotone"), seed=1).run()
    nodes = {name: {node for _, where in outcome.placement for node in where.get(name, {})} for name in "ab"}
    assert nodes["a"] == {"cloud-1"}, "nothing here says that it tolerates the edge"
    assert any(node.startswith("edge") for node in nodes["b"])


def test_a_service_belongs_to_the_application_unless_it_says_otherwise() -> None:
    body = """
  duration: 10s
  cluster: {nodes: [{name: a, cpu: "1", memory: 4Gi}]}
  application: {name: shop, services: [{name: web}, {name: mail, app-group: office}]}
"""

    class Look(Engine):
        groups: ClassVar[dict[str, str | None]] = {}

        def schedule(self, snapshot: Snapshot) -> Decisions:
            self.groups.update({pod.kind.workload.name: pod.kind.app_group for pod in snapshot.pending.values()})
            return super().schedule(snapshot)

    look = Look("kube-default")
    run(body, orchestrator=look)
    assert look.groups == {"web": "shop", "mail": "office"}


def test_a_policy_follows_users_whose_messages_have_no_size() -> None:
    """A message that says nothing still has headers: traffic of scenarios that leave sizes out is small, not none."""
    body = """
  duration: 300s
  warmup: 120s
  cluster:
    nodes: [{name: cloud-1, tier: cloud, cpu: "8", memory: 32Gi}, {name: edge-1, tier: edge, cpu: "2", memory: 4Gi}]
    network: {default: {rtt: 100ms}}
  application: {name: shop, services: [{name: web, requests: {cpu: 100m}, endpoints: [{name: get, cpu: 2ms}]}]}
  load: [{at: 0s, for: 300s, entry: web.get, from: [edge-1], arrivals: {poisson: 10}}]
"""
    assert run(body, orchestrator=Engine("ecotone")).placement[-1][1] == {"web": {"edge-1": 1}}
