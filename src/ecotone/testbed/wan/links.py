"""The links of a bed: who sees whom with which delay, written for the delay processes and changed while they run."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ecotone.testbed import processes
from ecotone.testbed.layout import BedNode, Topology
from ecotone.testbed.node import network
from ecotone.testbed.processes import Daemon


def queue_rules(node: BedNode, others: Sequence[BedNode]) -> list[list[str]]:
    """iptables arguments: packets of each other node and of its pods go to the queue of its number."""
    return [
        ["-t", "raw", "-A", "PREROUTING", "-i", "eth0", "-s", source,
         "-j", "NFQUEUE", "--queue-num", str(other.number), "--queue-bypass"]
        for other in others
        if other.name != node.name
        for source in (f"{other.address}/32", other.pod_range)
    ]  # fmt: skip


def one_ways(topology: Topology, node: BedNode) -> dict[str, dict[str, float]]:
    """What the delay process of a node reads: half of each link's round trip per direction, in seconds."""
    return {
        str(other.number): {"delay": link.rtt / 2, "jitter": link.jitter, "loss": link.loss}
        for other in topology.nodes
        if other.name != node.name
        for link in (topology.link(node.name, other.name),)
    }


def write(path: Path, ways: dict[str, dict[str, float]]) -> None:
    """Whole or not at all: the delay process may read at any moment."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(ways))
    os.replace(part, path)  # noqa: PTH105


def start(topology: Topology, node: BedNode, path: Path) -> Daemon:
    """The node's delay process, then the rules that send packets to it."""
    write(path, one_ways(topology, node))
    daemon = processes.start(
        f"{node.name}/wan",
        [
            "nsenter", f"--net=/run/netns/{node.network_namespace}",
            sys.executable, "-m", "ecotone.testbed.wan.delay", path,
        ],
        log=path.with_suffix(".log"),
    )  # fmt: skip
    for rule in queue_rules(node, topology.nodes):
        network.inside(node, "iptables", *rule)
    return daemon


def changed(topology: Topology, a: str, b: str, **qualities: float) -> Topology:
    """The topology with new qualities on one link; `topology.node` refuses unknown names."""
    topology.node(a), topology.node(b)
    link = replace(topology.link(a, b), **qualities)
    kept = tuple((between, old) for between, old in topology.links if set(between) != {a, b})
    return replace(topology, links=(*kept, ((a, b), link)))
