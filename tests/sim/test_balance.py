"""Which of a service's ready pods a call goes to."""

from __future__ import annotations

import pytest

from ecotone.model import Bind, Decisions, InputError, Snapshot
from sim.scenarios import scenario, simulation

ZONES = """
  duration: 60s
  cluster:
    nodes:
      - {name: a-1, cpu: "8", memory: 8Gi, labels: {topology.kubernetes.io/zone: a}}
      - {name: a-2, cpu: "8", memory: 8Gi, labels: {topology.kubernetes.io/zone: a}}
      - {name: b-1, cpu: "8", memory: 8Gi, labels: {topology.kubernetes.io/zone: b}}
      - {name: bare, cpu: "8", memory: 8Gi}
    network: {default: {rtt: 10ms}}
  application:
    name: shop
    services:
      - name: web
        replicas: 3
        %s
        endpoints: [{name: get, cpu: {mean: 1ms, distribution: constant}}]
  load:
    - {at: 0s, for: 60s, entry: web.get, from: [%s], arrivals: {poisson: 50}}
"""


class OneEach:
    """Binds the n-th pod to the n-th of these nodes."""

    name = "one-each"
    reserves_for = 0.0

    def __init__(self, *nodes: str) -> None:
        self._nodes = nodes

    def schedule(self, snapshot: Snapshot) -> Decisions:
        pods = sorted(snapshot.pending)
        return Decisions(tuple(Bind(pod, self._nodes[number], "here") for number, pod in enumerate(pods)))

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        del snapshot
        return Decisions(())


def work_on(*nodes: str, balance: str, entry: str) -> dict[str, float]:
    """Share of all CPU time that each node spent."""
    run = simulation(ZONES % (balance, entry), orchestrator=OneEach(*nodes))
    run.run()
    used = {node.name: node.used() for node in run.nodes}
    return {name: seconds / sum(used.values()) for name, seconds in used.items() if seconds > 0.0}


def test_without_a_balance_every_ready_pod_has_the_same_chance() -> None:
    shares = work_on("a-1", "a-2", "b-1", balance="", entry="a-1")
    assert shares == pytest.approx({"a-1": 1 / 3, "a-2": 1 / 3, "b-1": 1 / 3}, abs=0.03)


def test_same_node_keeps_calls_on_the_callers_node() -> None:
    assert work_on("a-1", "a-2", "b-1", balance="balance: same-node", entry="a-1") == {"a-1": 1.0}


def test_same_node_falls_back_to_the_zone() -> None:
    shares = work_on("a-2", "a-2", "b-1", balance="balance: same-node", entry="a-1")
    assert shares == {"a-2": 1.0}


def test_same_zone_shares_calls_among_the_pods_of_the_zone() -> None:
    shares = work_on("a-1", "a-2", "b-1", balance="balance: same-zone", entry="a-1")
    assert shares == pytest.approx({"a-1": 1 / 2, "a-2": 1 / 2}, abs=0.03)


@pytest.mark.parametrize("balance", ["same-zone", "same-node"])
def test_a_zone_without_pods_falls_back_to_all(balance: str) -> None:
    shares = work_on("a-1", "a-2", "a-2", balance=f"balance: {balance}", entry="b-1")
    assert shares == pytest.approx({"a-1": 1 / 3, "a-2": 2 / 3}, abs=0.03)


def test_a_node_without_zone_is_in_nobodys_zone() -> None:
    shares = work_on("a-1", "a-2", "b-1", balance="balance: same-zone", entry="bare")
    assert shares == pytest.approx({"a-1": 1 / 3, "a-2": 1 / 3, "b-1": 1 / 3}, abs=0.03)


def test_policies_see_the_balance_as_the_services_traffic_distribution() -> None:
    for balance, expected in (
        ("", None),
        ("balance: same-zone", "PreferSameZone"),
        ("balance: same-node", "PreferSameNode"),
    ):
        run = simulation(ZONES % (balance, "a-1"))
        (service,) = run.observer.snapshot(0.0, []).services
        assert service.traffic_distribution == expected


def test_an_unknown_balance_is_an_input_error() -> None:
    with pytest.raises(InputError, match="balance"):
        scenario(ZONES % ("balance: nearest", "a-1"))
