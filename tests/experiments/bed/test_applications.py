"""Other published applications, made to fit a bed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecotone.experiments.bed.applications import CYCLES, STRESS, WARMUP, messaging, stress, taxi
from ecotone.experiments.bed.campaign import Campaign, predict
from ecotone.experiments.bed.fitting import INFRASTRUCTURE, SPARE_MEMORY, direct, with_room
from ecotone.experiments.bed.parts import store
from ecotone.experiments.bed.playing.contenders import ECOTONE, KUBE_DEFAULT
from ecotone.experiments.bed.playing.player import entries
from ecotone.experiments.bed.playing.scaling import changes, wanted
from ecotone.experiments.bed.playing.watching import edge_latency_ms
from ecotone.sim.scenario import Scenario, load_scenario
from ecotone.sim.scenario.schema import Link, NetworkSpec
from ecotone.testbed.layout import topology_of


@pytest.mark.parametrize("scenario", [taxi(30.0), messaging(30.0), stress(30.0)], ids=lambda each: each.name)
def test_they_fit_a_bed_of_two_cores_with_room_for_what_real_nodes_have_beside(scenario: Scenario) -> None:
    bed = with_room(scenario)
    topology = topology_of(bed)
    assert all(node.spec.cpu <= 2000 for node in topology.nodes)
    assert [node.name for node in topology.nodes] == [*(node.name for node in scenario.nodes), INFRASTRUCTURE]
    for given, made in zip(scenario.nodes, bed.nodes, strict=False):
        assert made.memory == given.memory + SPARE_MEMORY
        for other in scenario.nodes:
            if other.name != given.name:
                assert topology.link(given.name, other.name).rtt > 0


def test_ways_over_several_links_become_links_of_their_own() -> None:
    links = ((("a", "b"), Link(rtt=0.01)), (("b", "c"), Link(rtt=0.02)), (("a", "c"), Link(rtt=0.05)))
    made = direct(NetworkSpec(links=links, shortest_path=True), ["a", "b", "c"])
    assert not made.shortest_path
    assert {between: link.rtt for between, link in made.links} == {("a", "b"): 0.01, ("a", "c"): 0.03, ("b", "c"): 0.02}


def test_the_taxis_network_is_the_published_one() -> None:
    rtt = {frozenset(between): link.rtt for between, link in taxi(30.0).network.links}
    assert rtt[frozenset(("cn", "w5"))] == pytest.approx(0.030)  # over w4
    assert rtt[frozenset(("w2", "w6"))] == pytest.approx(0.080 + 0.015 + 0.010 + 0.020 + 0.075)
    assert sum(service.cpu_request or 0 for service in taxi(30.0).application.services) == 1912


def test_stress_pods_come_and_go_as_the_published_generator_draws_them() -> None:
    scenario = stress(30.0)
    assert wanted(scenario, 0.0) == dict.fromkeys("abcd", 1)
    for number, cycle in enumerate(STRESS.cycles()[:CYCLES]):
        at = WARMUP + 30.0 * number
        assert wanted(scenario, at) == wanted(scenario, at + 29.0) == cycle
        users = {load.service: load.users for load in scenario.load if load.at == at}
        assert users == cycle
    assert scenario.duration == WARMUP + CYCLES * 30.0
    assert changes(scenario) == [WARMUP, WARMUP + 30.0, WARMUP + 60.0]
    assert changes(taxi(30.0)) == []
    assert list(entries(scenario).values()) == [8080, 8081, 8082, 8083]


def test_the_counted_latency_of_a_placement_is_the_pods_mean() -> None:
    scenario = stress(30.0)
    placement = [(0.0, {"a": {"edge-1": 1, "cloud-1": 1}, "b": {"edge-2": 2}}), (1.0, {"a": {"cloud-1": 3}})]
    assert edge_latency_ms(scenario, placement) == pytest.approx((175 + 50 + 300) / 3)
    assert edge_latency_ms(load_scenario("messaging"), placement) is None


def test_runs_of_several_sessions_stand_in_one_result_if_they_were_played_alike(tmp_path: Path) -> None:
    scenario = taxi(5.0)
    order = [KUBE_DEFAULT.name, ECOTONE.name]

    def campaign(told: Scenario = scenario) -> Campaign:
        made = Campaign("x.json", told, 1, order)
        made.take_up(tmp_path)
        return made

    first = campaign()
    first.overhead = {"taxi-iot": 0.001}
    first.add(predict(scenario, ECOTONE, trial=0, seed=1), {"cores": 2})
    first.write(tmp_path)
    second = campaign()
    assert second.has("ecotone", 0) and not second.has("kube-default", 0)
    assert second.overhead == pytest.approx({"taxi-iot": 0.001})
    second.add(predict(scenario, KUBE_DEFAULT, trial=0, seed=1), {"cores": 4})
    second.write(tmp_path)
    third = campaign()
    assert [each.policy for each in third.played] == order
    assert third.machines == [{"cores": 2}, {"cores": 4}]
    assert third.summary()[1]["vs_baseline"] is not None
    assert campaign(taxi(6.0)).played == []
    store(tmp_path, "x.json", {})
    assert campaign().played == []
