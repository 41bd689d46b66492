"""From a scenario to names, addresses and links."""

from __future__ import annotations

from pathlib import Path

import pytest

from ecotone.experiments.bed.fitting import with_infrastructure
from ecotone.model.errors import InputError
from ecotone.sim.scenario import load_scenario
from ecotone.sim.scenario.schema import Link
from ecotone.testbed import state
from ecotone.testbed.layout import Paths, quota_share, topology_of
from ecotone.testbed.state import BedState
from ecotone.testbed.wan import links as wan


def test_every_node_has_addresses_of_its_own() -> None:
    topology = topology_of(load_scenario("sock-shop-100ms"))
    assert len({node.address for node in topology.nodes}) == len(topology.nodes)
    assert len({node.pod_range for node in topology.nodes}) == len(topology.nodes)
    assert all(len(node.veth) <= 15 for node in topology.nodes)


def test_all_nodes_together_get_no_more_than_the_cores_given() -> None:
    topology = topology_of(load_scenario("sock-shop-100ms"))
    share = quota_share(topology.nodes, cores=1.2)
    assert sum(node.spec.cpu / 1000 * share for node in topology.nodes) == pytest.approx(1.2)


def test_a_round_trip_is_split_over_its_two_directions() -> None:
    topology = wan.changed(topology_of(load_scenario("sock-shop-100ms")), "edge-1", "cloud-1", rtt=0.08, loss=0.01)
    here, there = topology.node("edge-1"), topology.node("cloud-1")
    assert wan.one_ways(topology, here)[str(there.number)] == {"delay": 0.04, "jitter": 0.0, "loss": 0.01}
    assert wan.one_ways(topology, there)[str(here.number)] == wan.one_ways(topology, here)[str(there.number)]


def test_a_link_is_changed_once_and_others_stay() -> None:
    first = topology_of(load_scenario("sock-shop-100ms"))
    before = first.link("edge-1", "edge-2")
    topology = wan.changed(wan.changed(first, "edge-1", "cloud-1", rtt=0.08), "cloud-1", "edge-1", rtt=0.2)
    assert topology.link("edge-1", "cloud-1").rtt == 0.2
    assert topology.link("edge-1", "edge-2") == before


def test_an_unknown_node_is_named_with_those_there_are() -> None:
    with pytest.raises(InputError, match="edge-9"):
        wan.changed(topology_of(load_scenario("sock-shop-100ms")), "edge-9", "cloud-1", rtt=1.0)


def test_packets_of_a_node_and_of_its_pods_go_to_its_queue() -> None:
    topology = topology_of(load_scenario("sock-shop-100ms"))
    rules = wan.queue_rules(topology.nodes[0], topology.nodes)
    assert len(rules) == 2 * (len(topology.nodes) - 1)
    assert not any(topology.nodes[0].pod_range in rule for rule in rules)


def test_what_is_remembered_reads_back(tmp_path: Path) -> None:
    topology = topology_of(with_infrastructure(load_scenario("sock-shop-100ms"), cpu=1000))
    assert topology.default == Link(rtt=topology.default.rtt)
    assert topology.nodes[-1].spec.taints
    state.save(Paths(tmp_path), BedState(topology, 0.25))
    found = state.load(Paths(tmp_path))
    assert found is not None
    assert (found.topology, found.share) == (topology, 0.25)


def test_a_node_offers_the_scenarios_cores_or_what_it_gets_of_the_machine() -> None:
    topology = topology_of(load_scenario("sock-shop-100ms"))
    node = topology.nodes[0]
    as_written, as_it_is = BedState(topology, 0.25), BedState(topology, 0.25, offered=0.25)
    assert (as_written.millicores(node), as_written.core) == (node.spec.cpu, 0.25)
    assert (as_it_is.millicores(node), as_it_is.core) == (node.spec.cpu / 4, 1.0)


def test_a_bed_is_remembered_with_what_its_nodes_offer(tmp_path: Path) -> None:
    topology = topology_of(load_scenario("sock-shop-100ms"))
    state.save(Paths(tmp_path), BedState(topology, 0.25, offered=0.25))
    found = state.load(Paths(tmp_path))
    assert found is not None
    assert found.offered == 0.25
