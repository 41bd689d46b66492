"""Sock Shop as a bed of one small machine can play it: the thesis' application and network, its schedule compressed.

A kubelet offers no more CPU than the machine has, so the cloud node has two cores; the others keep the order of sizes. All
nodes together get a fixed part of the machine (`cores`), so one core of the scenario is `share` of a real one: Kubernetes sees
the scenario's cores, a request burns real CPU time. The simulator is told the same by scaling nodes and requests with `share`
and leaving demands alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.scenario.families.sock_shop import SockShop
from ecotone.sim.scenario.schema import Control, Load

CPU = {"cloud": 2000, "fog": 1500, "edge": 1000}  # millicores
# Which of the thesis' phases are played: three APIs that enter at three nodes of two tiers.
PHASES = (1, 3, 4)
CONTROL = Control(scrape=5.0, monitor=5.0, deschedule=5.0, window=20.0, probe=5.0)
STARTUP = 3.0


@dataclass(frozen=True, slots=True)
class Schedule:
    """Seconds: how long users come before figures count, and how long each phase is."""

    warmup: float = 40.0
    phase: float = 40.0
    users: int = 4

    def with_phases_of(self, seconds: float) -> Schedule:
        """The warm-up is no longer than two of them."""
        return replace(self, phase=seconds, warmup=min(self.warmup, 2 * seconds))


def sock_shop(latency: float, schedule: Schedule) -> Scenario:
    """`latency` is the round trip in milliseconds between tiers and between edge nodes."""
    whole = read_scenario(SockShop(latency, users=schedule.users).text(), file=f"sock-shop-{latency:g}ms.yaml")
    nodes = tuple(replace(node, cpu=CPU[node.tier or "edge"]) for node in whole.nodes)
    services = tuple(replace(service, startup=STARTUP, grace=10.0) for service in whole.application.services)
    chosen = [whole.load[number] for number in PHASES]
    load = tuple(_phases(chosen, schedule))
    return replace(
        whole,
        name=f"sock-shop-bed-{latency:g}ms",
        warmup=schedule.warmup,
        duration=load[-1].at + load[-1].length,
        nodes=nodes,
        application=replace(whole.application, services=services),
        load=load,
        control=CONTROL,
    )


def _phases(chosen: Sequence[Load], schedule: Schedule) -> list[Load]:
    """One after the other; the first begins early enough to have been measured when figures start to count."""
    found, at = [], 0.0
    for number, load in enumerate(chosen):
        length = schedule.phase + (schedule.warmup if number == 0 else 0.0)
        found.append(replace(load, at=at, length=length))
        at += length
    return found


def scaled(scenario: Scenario, share: float, idle: Mapping[str, float] | None = None) -> Scenario:
    """For the simulator: the CPU that the bed's nodes really have, less the cores that are in use before users come.

    Requests are scaled like the node that has least left, so that whatever fits on the bed fits here.
    """
    left = {node.name: node.cpu * share - 1000 * (idle or {}).get(node.name, 0.0) for node in scenario.nodes}
    least = min(max(0.1, left[node.name] / (node.cpu * share)) for node in scenario.nodes)

    def less(millicores: int | None) -> int | None:
        return None if millicores is None else max(1, int(millicores * share * least))

    nodes = tuple(replace(node, cpu=max(10, round(left[node.name]))) for node in scenario.nodes)
    services = tuple(
        replace(each, cpu_request=less(each.cpu_request), cpu_limit=less(each.cpu_limit))
        for each in scenario.application.services
    )
    return replace(scenario, nodes=nodes, application=replace(scenario.application, services=services))


def pinned(scenario: Scenario, placement: Mapping[str, str]) -> Scenario:
    """The services named stay on the nodes named: nothing is left to a policy."""
    services = tuple(
        replace(each, pinned=placement.get(each.name, each.pinned)) for each in scenario.application.services
    )
    return replace(scenario, application=replace(scenario.application, services=services))
