"""Nodes: what they have left and how far they are from each other, from node-exporter and the probe.

A node's series are those of the node-exporter that runs on it, a probe's those of the node it runs on. Where nobody is asked
who exposed a series, it is matched to a node by the label `node`, else `nodename`, else by the host part of `instance`, which
may be the node's name or one of its addresses. Two jobs may scrape the same exporter; a node then has several candidates
and takes the best matched one, never their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ecotone.manifests.keys import MOST_DIMENSIONS
from ecotone.telemetry.families import (
    MOST_BYTES,
    MOST_CORES,
    SPEAKER_NODE,
    Family,
    Figure,
    Kind,
    Labels,
    Reading,
    believed,
)
from ecotone.telemetry.sources.speakers import Speaker, Voices

_OWN = (SPEAKER_NODE, "node", "nodename", "instance", "job")
_PAIR = ("origin", "target")
MOST_WAITED = 1e6
"""Seconds of waiting, or probes, a second."""
_EXPORTERS = Voices(listed=True, name="a node-exporter that --reporter names")
_PROBES = Voices(probe=True)


def _from_its_own_node(labels: Labels, speaker: Speaker) -> bool:
    return believed(speaker) or (speaker.probe and labels.get("origin", "") == speaker.node != "")


def _of_a_node(_: Labels, speaker: Speaker) -> bool:
    return believed(speaker) or speaker.node != ""


IDLE_CPU = Family(
    "node_cpu_seconds_total",
    by=_OWN,
    selectors=('mode="idle"',),
    voices=_EXPORTERS,
    admits=_of_a_node,
    most=MOST_CORES,
)
AVAILABLE_MEMORY = Family(
    "node_memory_MemAvailable_bytes",
    by=_OWN,
    kind=Kind.AVERAGE,
    voices=_EXPORTERS,
    admits=_of_a_node,
    most=MOST_BYTES,
)
RTT_SUM = Family("ecotone_probe_rtt_seconds_sum", by=_PAIR, voices=_PROBES, admits=_from_its_own_node, most=MOST_WAITED)
RTT_COUNT = Family(
    "ecotone_probe_rtt_seconds_count", by=_PAIR, voices=_PROBES, admits=_from_its_own_node, most=MOST_WAITED
)
AXES = tuple(str(number) for number in range(MOST_DIMENSIONS))
MOST_MILLISECONDS = 1e5
"""A coordinate or round trip beyond is no distance on this planet."""
PARTS = frozenset((*AXES, "height", "error"))
"""What a coordinate is made of; a series that names anything else is not a probe's."""
COORDINATE = Family(
    "ecotone_probe_coordinate",
    by=("origin", "axis"),
    together=("origin",),
    kind=Kind.AVERAGE,
    signed=True,
    voices=_PROBES,
    admits=_from_its_own_node,
    most=MOST_MILLISECONDS,
)


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """How series may call a node, and the most it can have."""

    name: str
    addresses: tuple[str, ...] = ()
    cpu: float | None = None
    memory: float | None = None


@dataclass(slots=True)
class NodeFigures:
    cpu: Figure | None = None
    """Cores not in use."""
    memory: Figure | None = None
    """Bytes not in use."""
    latencies: dict[str, Figure] = field(default_factory=dict)
    """Milliseconds to other nodes."""
    coordinates: dict[str, Figure] = field(default_factory=dict)


class Matcher:
    """From a series' labels to a node's name."""

    def __init__(self, nodes: Iterable[NodeIdentity]) -> None:
        self.nodes = {node.name: node for node in nodes}
        claimed: dict[str, str | None] = {}
        for node in self.nodes.values():
            for address in node.addresses:
                # An address that two nodes claim (a host name left over from an image) points to neither.
                claimed[address] = node.name if claimed.get(address, node.name) == node.name else None
        self._addresses = {address: name for address, name in claimed.items() if name is not None}

    def match(self, labels: Mapping[str, str]) -> tuple[int, str] | None:
        """How well (0 is best) and which node; None if it is no node of ours."""
        proven = labels.get(SPEAKER_NODE, "")
        if proven:
            return (0, proven) if proven in self.nodes else None
        for rank, label in enumerate(("node", "nodename")):
            name = labels.get(label, "")
            if name in self.nodes:
                return rank, name
        host = host_of(labels.get("instance", ""))
        if host in self.nodes:
            return 2, host
        name = self._addresses.get(host, "")
        return (2, name) if name else None


def host_of(instance: str) -> str:
    """The host part of HOST:PORT, [IPv6]:PORT, or a bare host."""
    if instance.startswith("["):
        return instance[1:].partition("]")[0]
    host, colon, port = instance.rpartition(":")
    return host if colon and port.isdigit() and ":" not in host else instance


def node_figures(
    matcher: Matcher,
    *,
    cpu: Iterable[Reading] = (),
    memory: Iterable[Reading] = (),
    rtt_sum: Iterable[Reading] = (),
    rtt_count: Iterable[Reading] = (),
    coordinates: Iterable[Reading] = (),
) -> dict[str, NodeFigures]:
    """Figures per node name; a node without any series is absent. Pure."""
    found: dict[str, NodeFigures] = {}
    for name, figure in _own(matcher, cpu).items():
        found.setdefault(name, NodeFigures()).cpu = _capped(figure, matcher.nodes[name].cpu)
    for name, figure in _own(matcher, memory).items():
        found.setdefault(name, NodeFigures()).memory = _capped(figure, matcher.nodes[name].memory)
    for (origin, target), figure in _latencies(rtt_sum, rtt_count).items():
        if origin != target and origin in matcher.nodes and target in matcher.nodes:
            found.setdefault(origin, NodeFigures()).latencies[target] = figure
    for reading in coordinates:
        name, axis = reading.labels.get("origin", ""), reading.labels.get("axis", "")
        if name in matcher.nodes and axis in PARTS:
            found.setdefault(name, NodeFigures()).coordinates[axis] = Figure(reading.value, reading.at)
    return found


def _own(matcher: Matcher, readings: Iterable[Reading]) -> dict[str, Figure]:
    best: dict[str, tuple[tuple[int, str, str], Figure]] = {}
    for reading in readings:
        matched = matcher.match(reading.labels)
        if matched is None:
            continue
        rank, name = matched
        order = (rank, reading.labels.get("job", ""), reading.labels.get("instance", ""))
        if name not in best or order < best[name][0]:
            best[name] = (order, Figure(reading.value, reading.at))
    return {name: figure for name, (_, figure) in best.items()}


def _capped(figure: Figure, most: float | None) -> Figure:
    return figure if most is None or figure.value <= most else Figure(most, figure.at)


def _latencies(sums: Iterable[Reading], counts: Iterable[Reading]) -> dict[tuple[str, str], Figure]:
    """Milliseconds per pair: a peer that answered nothing in the window has no latency at all."""
    total = {(each.labels.get("origin", ""), each.labels.get("target", "")): each.value for each in sums}
    found = {}
    for each in counts:
        pair = (each.labels.get("origin", ""), each.labels.get("target", ""))
        if each.value > 0 and pair in total:
            milliseconds = 1000.0 * total[pair] / each.value
            if milliseconds <= MOST_MILLISECONDS:
                found[pair] = Figure(milliseconds, each.at)
    return found
