"""A real cluster on one machine: nodes, network, names, measurements, power."""

from __future__ import annotations

import time

import pytest

from ecotone.sim.scenario import load_scenario
from ecotone.testbed.application.workload import application_objects
from ecotone.testbed.bed import Bed
from ecotone.testbed.processes import DeadlineError
from testbed_real.conftest import SCENARIO
from testbed_real.seeing import call, objects, query, reachable, round_trip_ms
from testbed_real.waiting import wait_until

pytestmark = pytest.mark.testbed
KUBELET = 10250


@pytest.fixture(scope="module")
def shop(bed: Bed) -> str:
    """The address of the front end, once everything answers."""
    bed.apply(application_objects(load_scenario(str(SCENARIO)), namespace="shop", scheduler="default-scheduler"))
    address = objects(bed, "service", "-n", "shop", "web")[0]["spec"]["clusterIP"]
    url = f"http://{address}:8080/call/get"
    wait_until(lambda: call(bed, "edge-1", url)[0] == 200, seconds=240, what="answer of the shop")
    return str(url)


def test_nodes_offer_what_the_scenario_says(bed: Bed) -> None:
    nodes = {each["metadata"]["name"]: each for each in objects(bed, "nodes")}
    assert {name: each["status"]["allocatable"]["cpu"] for name, each in nodes.items()} == {
        "cloud-1": "2", "edge-1": "1", "edge-2": "1", "fog-1": "1",
    }  # fmt: skip
    assert nodes["edge-1"]["metadata"]["labels"]["ecotone.dev/tier"] == "edge"


def test_the_network_between_nodes_is_the_scenarios_and_can_be_changed(bed: Bed) -> None:
    def comes_to(other: str, ms: float) -> None:
        """A machine that is busy for a moment makes handshakes longer, never shorter than the link is."""
        address = bed.topology.node(other).address
        seen: list[float] = []

        def agrees() -> bool:
            seen.append(round_trip_ms(bed, "edge-1", address, KUBELET))
            return seen[-1] == pytest.approx(ms, rel=0.05, abs=3)

        try:
            wait_until(agrees, seconds=60, what=f"round trip of {ms:g} ms from edge-1 to {other}")
        except DeadlineError as error:
            raise DeadlineError(f"{error}: {seen}") from None

    comes_to("cloud-1", 50)
    comes_to("edge-2", 20)
    bed.set_link("edge-1", "cloud-1", rtt=0.120)
    try:
        comes_to("cloud-1", 120)
    finally:
        bed.set_link("edge-1", "cloud-1", rtt=0.050)


def test_a_chain_of_services_answers_over_that_network(bed: Bed, shop: str) -> None:
    """api stands somewhere, db on the cloud node: a request crosses at least one link of 20 ms."""
    status, took = call(bed, "edge-1", shop)
    assert status == 200
    assert took > 0.015


def test_requests_are_counted_by_the_sidecars(bed: Bed, shop: str) -> None:
    series = 'envoy_cluster_upstream_rq_total{namespace="shop",envoy_cluster_name=~"api|db"}'

    def by_peer(expression: str) -> dict[str, float]:
        return {row["metric"]["envoy_cluster_name"]: float(row["value"][1]) for row in query(bed, expression)}

    def counted() -> dict[str, float]:
        return by_peer(series)

    def scraped_since(moment: float) -> bool:
        times = by_peer(f"timestamp({series})")
        return set(times) == {"api", "db"} and min(times.values()) > moment

    def scraped_anew() -> dict[str, float]:
        now = time.time()
        wait_until(lambda: scraped_since(now), seconds=120, what="scrapes of both sidecars after the last request")
        return counted()

    def settled() -> dict[str, float]:
        """What is counted when two scrapes in a row say the same: a request of before may still be under way."""
        first, second = scraped_anew(), scraped_anew()
        while first != second:
            first, second = second, scraped_anew()
        return second

    before = settled()
    assert [call(bed, "edge-1", shop)[0] for _ in range(25)] == [200] * 25
    wait_until(
        lambda: all(counted().get(name, 0) >= value + 25 for name, value in before.items()),
        seconds=120,
        what="25 more requests",
    )
    assert counted() == {name: value + 25 for name, value in before.items()}


def test_figures_of_a_node_are_its_own(bed: Bed, shop: str) -> None:
    def rows(expression: str) -> dict[str, float]:
        return {row["metric"]["node"]: float(row["value"][1]) for row in query(bed, expression)}

    names = {node.name for node in bed.topology.nodes}
    wait_until(lambda: set(rows("node_memory_MemAvailable_bytes")) == names, seconds=120, what="memory of all nodes")
    memory = rows("node_memory_MemAvailable_bytes")
    assert all(0 < memory[node.name] <= node.spec.memory for node in bed.topology.nodes)
    wait_until(lambda: set(rows('node_cpu_seconds_total{mode="idle"}')) == names, seconds=120, what="CPU of all nodes")


def test_pods_use_cpu_in_the_measure_that_their_node_has_it_in(bed: Bed, shop: str) -> None:
    """Kubelets count the machine's seconds; a policy that took them for the scenario's would see idle nodes everywhere."""
    assert bed.share < 0.5

    def cores(expression: str) -> float:
        rows = [row for row in query(bed, expression) if row["metric"]["node"] == "cloud-1"]
        return float(rows[0]["value"][1]) if rows else 0.0

    def alike() -> bool:
        pods = cores('sum by (node) (rate(container_cpu_usage_seconds_total{container!=""}[1m]))')
        node = cores('rate(node_cpu_seconds_total{mode="user"}[1m])')
        return 0.7 * node < pods < 1.3 * node

    wait_until(alike, seconds=150, what="what pods use in all is what their node's cgroup says")


def test_a_node_without_power_is_noticed_and_comes_back(bed: Bed) -> None:
    def ready(name: str) -> str:
        conditions = objects(bed, "node", name)[0]["status"]["conditions"]
        return next(str(each["status"]) for each in conditions if each["type"] == "Ready")

    bed.power("fog-1", on=False)
    wait_until(lambda: ready("fog-1") != "True", seconds=120, what="node that is not ready")
    bed.power("fog-1", on=True)
    wait_until(lambda: ready("fog-1") == "True", seconds=120, what="node that is ready again")


def test_a_cable_that_is_out_cuts_a_node_off(bed: Bed) -> None:
    fog = bed.topology.node("fog-1")
    wait_until(lambda: reachable(bed, "edge-1", fog.address, KUBELET), seconds=60, what="fog-1 on the network")
    bed.plug("fog-1", connected=False)
    try:
        assert not reachable(bed, "edge-1", fog.address, KUBELET)
    finally:
        bed.plug("fog-1", connected=True)
    wait_until(lambda: reachable(bed, "edge-1", fog.address, KUBELET), seconds=120, what="fog-1 on the network again")
