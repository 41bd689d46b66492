"""Where an application's pods were while it ran, and which of them were replaced elsewhere."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ecotone.sim.scenario.schema import Scenario
from ecotone.sim.simulation import Move, Placement
from ecotone.testbed.bed import Bed


@dataclass(frozen=True, slots=True)
class _Seen:
    at: float
    pod: str
    node: str


@dataclass(slots=True)
class Watching:
    """Samples of one namespace; a pod that is ending counts as gone."""

    bed: Bed
    namespace: str
    placement: list[tuple[float, Placement]] = field(default_factory=list)
    _here: dict[str, tuple[str, _Seen]] = field(default_factory=dict)
    _came: dict[str, list[_Seen]] = field(default_factory=dict)
    _went: dict[str, list[_Seen]] = field(default_factory=dict)

    def look(self, at: float) -> None:
        text = self.bed.kubectl("get", "pods", "-n", self.namespace, "-l", "app-group", "-o", "json", check=False)
        if text:
            self.take(at, json.loads(text)["items"])

    def take(self, at: float, pods: list[dict[str, Any]]) -> None:
        first = not self.placement
        here: dict[str, tuple[str, _Seen]] = {}
        placed: Placement = {}
        for pod in pods:
            node, metadata = pod["spec"].get("nodeName"), pod["metadata"]
            if node is None or metadata.get("deletionTimestamp"):
                continue
            service, uid = metadata["labels"]["app"], metadata["uid"]
            here[uid] = self._here.get(uid) or (service, _Seen(at, metadata["name"], node))
            counts = placed.setdefault(service, {})
            counts[node] = counts.get(node, 0) + 1
        if not first:
            for uid in here.keys() - self._here.keys():
                service, seen = here[uid]
                self._came.setdefault(service, []).append(seen)
            for uid in self._here.keys() - here.keys():
                service, seen = self._here[uid]
                self._went.setdefault(service, []).append(_Seen(at, seen.pod, seen.node))
        self._here = here
        self.placement.append((at, placed))

    def moves(self, changes: Sequence[float] = ()) -> list[Move]:
        """Pods that went, each with the next pod of its service that came, before it (a surge) or after.

        Replica counts change at `changes`: what goes before such a moment and what comes after it have nothing to do with each
        other, and what has no partner was scaled up or down.
        """
        found = []
        for service, went in self._went.items():
            for part in range(len(changes) + 1):
                gone_then = [each for each in went if bisect_right(changes, each.at) == part]
                came_then = [each for each in self._came.get(service, []) if bisect_right(changes, each.at) == part]
                for gone, come in zip(gone_then, came_then, strict=False):
                    found.append(Move(gone.at, gone.pod, service, gone.node, come.node, ""))
        return sorted(found, key=lambda each: each.at)


def edge_latency_ms(scenario: Scenario, placement: list[tuple[float, Placement]]) -> float | None:
    """The counted latency of the scenario's QoS: mean over samples and services of the pods' tiers, as the simulator has it."""
    if scenario.qos is None:
        return None
    tiers = {node.name: node.tier for node in scenario.nodes}
    found = []
    for _, placed in placement:
        for where in placed.values():
            latencies = [
                (scenario.qos.latency[tier], pods) for node, pods in where.items() if (tier := tiers[node]) is not None
            ]
            pods = sum(count for _, count in latencies)
            if pods:
                found.append(1000 * sum(seconds * count for seconds, count in latencies) / pods)
    return sum(found) / len(found) if found else None
