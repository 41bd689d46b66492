"""One cycle of cluster monitoring: ask, match, compare with what is written, write the difference.

Where two Cluster resources select the same node the older one has it; the younger says so in a condition. Nodes that no
Cluster selects any more are cleaned of what this program wrote on them, and of nothing else.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping

from ecotone.model.errors import InputError
from ecotone.model.quantity import parse
from ecotone.services.monitor.annotations import NODE_KEYS, plan
from ecotone.services.monitor.conditions import DATA_FRESH, FILLING, OVERLAPPING, READY, Condition
from ecotone.services.monitor.desired import PAIRS_LIMIT, node_measured
from ecotone.services.monitor.part import Part
from ecotone.services.monitor.reading import Answered, Windows, read_all
from ecotone.services.monitor.watched import CLUSTERS, Cluster, Node
from ecotone.telemetry import nodes as telemetry
from ecotone.telemetry.nodes import Matcher, NodeFigures, NodeIdentity
from ecotone.telemetry.window import parse_window

log = logging.getLogger(__name__)

FAMILIES = {
    "cpu": telemetry.IDLE_CPU,
    "memory": telemetry.AVAILABLE_MEMORY,
    "coordinates": telemetry.COORDINATE,
}
# Above the limit nobody writes pairs down, and asking for them is most of the work: sixteen for each node.
PAIRS = {"rtt_sum": telemetry.RTT_SUM, "rtt_count": telemetry.RTT_COUNT}
NAMED = 5


class ClusterPart(Part):
    async def run(self, cluster: Cluster) -> None:
        """One cycle for the nodes that this Cluster has."""
        name = cluster.metadata.name
        shares = shared_out(self._watched.clusters, self._watched.nodes)
        nodes = shares.nodes.get(name, [])
        now = self._clock()
        windows = self._windows.setdefault(name, Windows())
        families = FAMILIES | PAIRS if len(nodes) <= PAIRS_LIMIT else FAMILIES
        at = await self._reader.moment()
        answered = await read_all(self._reader, families, windows=windows, wanted=self._wanted(cluster), at=at)
        figures = telemetry.node_figures(
            Matcher(map(identity, nodes)),
            cpu=answered.of("cpu"),
            memory=answered.of("memory"),
            rtt_sum=answered.of("rtt_sum"),
            rtt_count=answered.of("rtt_count"),
            coordinates=answered.of("coordinates"),
        )
        await self._write(nodes, figures, now=now)
        await self._reporter.report(
            CLUSTERS, cluster, judge(nodes, figures, answered, lost=shares.lost.get(name, {})), now=self._clock()
        )

    def _wanted(self, cluster: Cluster) -> float:
        try:
            return parse_window(cluster.spec.window) if cluster.spec.window else self._window
        except InputError as error:
            log.warning("cluster %s: spec.window: %s", cluster.metadata.name, error)
            return self._window

    async def _write(self, nodes: list[Node], figures: Mapping[str, NodeFigures], *, now: float) -> None:
        names = {node.metadata.name for node in nodes}
        pairs = len(nodes) <= PAIRS_LIMIT
        wanted = []
        for node in nodes:
            measured = node_measured(figures.get(node.metadata.name, NodeFigures()), nodes=names, pairs=pairs)
            annotations = plan(measured, node.metadata.annotations, of=NODE_KEYS, now=now, rules=self._rules)
            if annotations is None:
                self._metrics.skipped.labels("node").inc()
            else:
                wanted.append(self._writer.node(node.metadata, annotations))
        await asyncio.gather(*wanted)

    async def clean(self) -> None:
        """Takes our annotations off nodes that no Cluster selects."""
        shares = shared_out(self._watched.clusters, self._watched.nodes)
        kept = {node.metadata.name for nodes in shares.nodes.values() for node in nodes}
        left = [
            node.metadata for node in self._watched.nodes if node.metadata.name not in kept and node.metadata.managed
        ]
        await asyncio.gather(*(self._writer.node(meta, {}) for meta in left))


class Shares:
    """Which Cluster has which node."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[Node]] = {}
        self.lost: dict[str, dict[str, str]] = {}
        """Per Cluster the nodes that it selects and an older one has, with the older one's name."""


def shared_out(clusters: Iterable[Cluster], nodes: Iterable[Node]) -> Shares:
    """The oldest Cluster that selects a node has it. Pure."""
    shares = Shares()
    in_order = sorted(clusters, key=lambda each: each.metadata.age_order)
    for node in sorted(nodes, key=lambda each: each.metadata.name):
        labels = node.metadata.labels
        claims = [
            each.metadata.name
            for each in in_order
            if all(labels.get(key) == value for key, value in each.spec.node_selector.items())
        ]
        if claims:
            shares.nodes.setdefault(claims[0], []).append(node)
        for loser in claims[1:]:
            shares.lost.setdefault(loser, {})[node.metadata.name] = claims[0]
    return shares


def identity(node: Node) -> NodeIdentity:
    return NodeIdentity(
        node.metadata.name,
        tuple(each.address for each in node.status.addresses if each.address),
        cpu=_amount(node, "cpu"),
        memory=_amount(node, "memory"),
    )


def _amount(node: Node, resource: str) -> float | None:
    try:
        return float(parse(node.status.allocatable[resource]))
    except (KeyError, InputError):
        return None


def judge(
    nodes: list[Node], figures: Mapping[str, NodeFigures], answered: Answered, *, lost: Mapping[str, str]
) -> list[Condition]:
    """What the Cluster's conditions say after a cycle. Pure."""
    reachable, sources = answered.reachable(), answered.sources()
    names = [node.metadata.name for node in nodes]
    blank = NodeFigures()
    without = {
        "CPU": [name for name in names if figures.get(name, blank).cpu is None],
        "memory": [name for name in names if figures.get(name, blank).memory is None],
    }
    if len(names) > 1:
        without["latencies"] = [
            name
            for name in names
            if not figures.get(name, blank).latencies and not figures.get(name, blank).coordinates
        ]
    gaps = [
        f"{len(some)} of {len(names)} nodes without {what} ({_few(some)})" for what, some in without.items() if some
    ]
    if not names:
        fresh = Condition(DATA_FRESH, False, "NoNodes", "the selector matches no node")
    elif gaps:
        reason = FILLING if answered.young else "Missing"
        fresh = Condition(DATA_FRESH, False, reason, "; ".join(gaps))
    else:
        fresh = Condition(DATA_FRESH, True, "Measured", f"{len(names)} nodes")
    ready = Condition(
        READY, bool(reachable.status and fresh.status), fresh.reason if reachable.status else reachable.reason
    )
    if lost:
        others = ", ".join(sorted(set(lost.values())))
        overlap = Condition(OVERLAPPING, True, "OlderClusterWins", f"{_few(sorted(lost))}: monitored by {others}")
    else:
        overlap = Condition(OVERLAPPING, False, "None")
    return [ready, reachable, sources, fresh, overlap]


def _few(names: list[str]) -> str:
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
