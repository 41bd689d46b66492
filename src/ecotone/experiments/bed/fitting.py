"""Published clusters made to fit one machine: smaller cores, direct links, and room for what a real node has beside.

A kubelet keeps some memory for itself, a probe runs on every node, and every pod has a sidecar. Nodes are larger by that much,
so that the application's own pods fit on them as they do in the published scenario, which the simulator is given unchanged but
for the scale. What all nodes share (names, figures, our programs) is on a node of its own that no application goes to.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from math import inf
from typing import Any

from ecotone.model import quantity
from ecotone.model.selectors import Taint
from ecotone.sim.scenario.schema import Link, NetworkSpec, NodeSpec, Scenario, Service

INFRASTRUCTURE = "infrastructure"
TAINT = Taint("node-role.kubernetes.io/control-plane")  # as on any node that is there for the cluster itself
_MEBIBYTE = 2**20
SPARE_CPU = 50  # millicores: the probe's 20, and some of an input proxy
SPARE_MEMORY = 512 * _MEBIBYTE  # the kubelet's 100, the probe's 96, an input proxy's 64, sidecars of 64 each
_NEAR = Link(rtt=0.002)


def smaller(scenario: Scenario, *, cpu: float, memory: float = 1.0) -> Scenario:
    """Nodes and requests with so much of their CPU and memory; demands stay."""

    def less(service: Service) -> Service:
        asked = service.memory_request
        return replace(
            service,
            cpu_request=None if service.cpu_request is None else round(service.cpu_request * cpu),
            memory_request=None if asked is None else int(asked * memory),
        )

    nodes = tuple(replace(node, cpu=round(node.cpu * cpu), memory=int(node.memory * memory)) for node in scenario.nodes)
    services = tuple(less(each) for each in scenario.application.services)
    network = direct(scenario.network, [node.name for node in nodes])
    return replace(scenario, nodes=nodes, network=network, application=replace(scenario.application, services=services))


def with_room(scenario: Scenario) -> Scenario:
    """The same cluster as a bed: room for what real nodes have beside, and a node for what they share."""
    nodes = [replace(node, cpu=node.cpu + SPARE_CPU, memory=node.memory + SPARE_MEMORY) for node in scenario.nodes]
    return with_infrastructure(replace(scenario, nodes=tuple(nodes)), cpu=1000)


def with_infrastructure(scenario: Scenario, *, cpu: int) -> Scenario:
    """A node of so many millicores for what all share: neither figures nor our programs take CPU time from the application."""
    apart = NodeSpec(INFRASTRUCTURE, cpu=cpu, memory=4096 * _MEBIBYTE, taints=(TAINT,))
    links = [((INFRASTRUCTURE, node.name), _NEAR) for node in scenario.nodes]
    network = replace(scenario.network, links=(*scenario.network.links, *links))
    return replace(scenario, nodes=(*scenario.nodes, apart), network=network)


def asking_for(part: float, given: dict[str, Any]) -> dict[str, Any]:
    """The object, its pods asking for that part of the CPU they asked for, and limited to as much less; memory stays."""
    template = given.get("spec", {}).get("template")
    if template is None or part == 1.0:
        return given
    less = deepcopy(given)
    pod = less["spec"]["template"]["spec"]
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        for amounts in container.get("resources", {}).values():
            if "cpu" in amounts:
                amounts["cpu"] = f"{max(1, round(part * quantity.milli(amounts['cpu'])))}m"
    return less


def direct(network: NetworkSpec, nodes: list[str]) -> NetworkSpec:
    """Shortest ways over the links given, as links of their own: a bed's nodes are one hop apart."""
    if not network.shortest_path:
        return network
    rtt: dict[tuple[str, str], float] = {}
    for (a, b), link in network.links:
        rtt[a, b] = rtt[b, a] = link.rtt
    for via in nodes:
        for a in nodes:
            for b in nodes:
                over = rtt.get((a, via), inf) + rtt.get((via, b), inf)
                if a != b and over < rtt.get((a, b), inf):
                    rtt[a, b] = over
    pairs = [(a, b) for number, a in enumerate(nodes) for b in nodes[number + 1 :]]
    links = tuple(((a, b), Link(rtt=rtt[a, b])) for a, b in pairs if (a, b) in rtt)
    return NetworkSpec(network.default, links, shortest_path=False)
