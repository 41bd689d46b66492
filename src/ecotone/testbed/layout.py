"""Names and addresses of a test bed: who is where, before anything exists.

The bed has one bridge with the API server's address, one address per node on it, and one /24 of pod addresses per node.
Nothing here touches the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from ecotone.model.errors import InputError
from ecotone.sim.scenario.schema import Link, NodeSpec, Scenario

BRIDGE = "ecotone0"
NAME = "ecotone-bed"  # prefix of namespaces and the cgroup that holds all nodes
NODE_PREFIX, POD_PREFIX = "10.77.0.", "10.244."
API_ADDRESS = f"{NODE_PREFIX}1"
API_PORT = 17443
SERVICE_RANGE = "10.96.0.0/16"
API_SERVICE = "10.96.0.1"
DNS_SERVICE = "10.96.0.10"
POD_RANGE = f"{POD_PREFIX}0.0/16"
FIRST_HOST = 10
MOST_NODES = 60
RECORD = Path("/run/ecotone-bed")  # names the directory of the machine's one bed


@dataclass(frozen=True, slots=True)
class BedNode:
    """One node: `number` decides its addresses, everything else comes from the scenario."""

    number: int
    spec: NodeSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def address(self) -> str:
        return f"{NODE_PREFIX}{FIRST_HOST + self.number}"

    @property
    def pod_range(self) -> str:
        return f"{POD_PREFIX}{self.number}.0/24"

    @property
    def network_namespace(self) -> str:
        return f"{NAME}-{self.number}"

    @property
    def veth(self) -> str:
        return f"ecotone0v{self.number}"

    @property
    def cgroup(self) -> str:
        return f"{NAME}/{self.name}"


@dataclass(frozen=True, slots=True)
class Topology:
    """The nodes of a bed and the link between any two of them, as a scenario gives them."""

    nodes: tuple[BedNode, ...]
    default: Link
    links: tuple[tuple[tuple[str, str], Link], ...]

    def node(self, name: str) -> BedNode:
        for each in self.nodes:
            if each.name == name:
                return each
        raise InputError(f"the bed has no node {name!r}", hint=f"there are: {', '.join(n.name for n in self.nodes)}")

    def link(self, a: str, b: str) -> Link:
        for between, link in self.links:
            if set(between) == {a, b}:
                return link
        return self.default


def reserved(label: str) -> bool:
    """True if a kubelet must not say this label of its own node: an administrator does."""
    return label.partition("/")[0].endswith("node-role.kubernetes.io")


def topology_of(scenario: Scenario) -> Topology:
    """The cluster part of a scenario as a bed; what a bed cannot be is refused."""
    if len(scenario.nodes) > MOST_NODES:
        raise InputError(f"a test bed has at most {MOST_NODES} nodes, {scenario.name} has {len(scenario.nodes)}")
    if scenario.network.shortest_path:
        raise InputError("a test bed needs `routing: direct`: its nodes are one hop apart")
    limited = [between for between, link in scenario.network.links if link.bandwidth != inf]
    if limited or scenario.network.default.bandwidth != inf:
        raise InputError("a test bed does not limit bandwidth; leave `bandwidth` out of the scenario's network")
    nodes = tuple(BedNode(number, spec) for number, spec in enumerate(scenario.nodes, start=1))
    return Topology(nodes, scenario.network.default, scenario.network.links)


def quota_share(nodes: Sequence[BedNode], *, cores: float) -> float:
    """What one scenario core is on this machine: all nodes together get at most `cores`."""
    asked = sum(node.spec.cpu for node in nodes) / 1000
    return min(1.0, cores / asked) if asked else 1.0


@dataclass(frozen=True, slots=True)
class Paths:
    """The bed's state directory."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / "bed.json"

    @property
    def control(self) -> Path:
        return self.root / "control-plane"

    @property
    def admin(self) -> Path:
        return self.control / "admin.kubeconfig"

    def node(self, name: str) -> Path:
        return self.root / "nodes" / name

    def wan(self, name: str) -> Path:
        return self.node(name) / "wan.json"
