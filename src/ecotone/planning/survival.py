"""What a cluster survives: which workloads would be gone with a node, or with a zone, and what share of requests fails then.

A workload survives where one of its pods stands elsewhere; one with a single replica never does. Requests fail from the loss
until replacements serve. Which share that is the counted calls say: a workload that is gone fails the requests that need it,
as if every request needed each workload independently of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ecotone.model.objects import PodKind, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.costs.deadlines import Lateness
from ecotone.scheduling.redundancy.want import ZONE
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.graph import applications

_NO_REPLICAS = ("DaemonSet", "Job", "CronJob")
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Survival:
    """`nodes`, `zones`: by what is lost, the workloads that go with it; `single`: those of one replica; `failing`: the share of
    requests that fails meanwhile, as far as requests are counted; `in_zones`: whether there are several zones to lose one of.
    """

    nodes: Mapping[str, tuple[str, ...]]
    zones: Mapping[str, tuple[str, ...]]
    in_zones: bool
    single: frozenset[str] = frozenset()
    failing: Mapping[str, float] = field(default_factory=dict)

    def as_document(self) -> dict[str, Any]:
        return {
            "node": not self.nodes,
            "zone": not self.zones if self.in_zones else None,
            "lost": {place: list(lost) for place, lost in (*self.nodes.items(), *self.zones.items())},
            "failing": dict(self.failing),
        }

    def __str__(self) -> str:
        told = f"survives the loss of any node: {self._told(self.nodes)}"
        return f"{told}; of any zone: {self._told(self.zones)}" if self.in_zones else told

    def _told(self, lost: Mapping[str, tuple[str, ...]]) -> str:
        if not lost:
            return "yes"
        names = sorted({name for gone in lost.values() for name in gone})
        replicated = [name for name in names if name not in self.single]
        parts = [_listed(replicated)] if replicated else []
        single = len(names) - len(replicated)
        if single:
            parts.append(f"{single} workload{'s' if single > 1 else ''} of one replica")
        worst = max(lost, key=lambda place: (self.failing.get(place, 0.0), place))
        share = self.failing.get(worst)
        cost = f"; the loss of {worst} fails {share:.0%} of requests until replaced" if share else ""
        return f"no ({', '.join(parts)}{cost})"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def survival_of(state: ClusterState, *, lateness: Lateness, unawaited: float, namespace: str | None = None) -> Survival:
    """`namespace`: of its workloads alone."""
    codes, zones = state.nodes.labels(ZONE)
    where = {
        workload: rows for workload, rows in standing(state).items() if namespace in (None, workload.namespace)
    }  # fmt: skip
    nodes: dict[str, list[str]] = {}
    in_zone: dict[str, list[str]] = {}
    for workload in sorted(where):
        rows = np.array(list(where[workload]), dtype=np.intp)
        if len(rows) == 1:
            nodes.setdefault(state.nodes.names[rows[0]], []).append(str(workload))
        held = np.unique(codes[rows])
        if len(zones) > 1 and len(held) == 1 and held[0] >= 0:
            in_zone.setdefault(zones[held[0]], []).append(str(workload))
    single = frozenset(str(workload) for workload, rows in where.items() if sum(rows.values()) == 1)
    graphs = list(applications(state, lateness=lateness, unawaited=unawaited)) if nodes or in_zone else []
    failing = {place: share for place, lost in (*nodes.items(), *in_zone.items()) if (share := _failing(graphs, lost))}
    return Survival(_frozen(nodes), _frozen(in_zone), len(zones) > 1, single, failing)


def _frozen(lost: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {place: tuple(names) for place, names in sorted(lost.items())}


def standing(state: ClusterState) -> dict[WorkloadKey, dict[int, int]]:
    """Of each workload whose pods serve by turns: the rows of the nodes that have some, and how many each."""
    found: dict[WorkloadKey, dict[int, int]] = {}
    for kind in _kinds(state):
        rows, counts = state.usage.where(kind)
        if kind.workload.kind not in _NO_REPLICAS and len(rows):
            own = found.setdefault(kind.workload, {})
            for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
                own[row] = own.get(row, 0) + count
    return found


def _kinds(state: ClusterState) -> Iterable[PodKind]:
    for name in sorted(state.named):
        yield from state.named[name]


def _failing(graphs: Iterable[CallGraph], lost: list[str]) -> float:
    """The share of all counted requests that needs one of these workloads."""
    failed = sent = 0.0
    for application in graphs:
        sent += application.rate
        chances = dict(zip(map(_told_name, application.names), _chances(application).tolist(), strict=True))
        passes = np.prod([1.0 - chances.get(name, 0.0) for name in lost])
        failed += application.rate * (1.0 - float(passes))
    return failed / sent if sent else 0.0


def _told_name(name: Name) -> str:
    return "/".join(name)


def _chances(application: CallGraph) -> Any:
    """Of each workload, how probable it is that a request needs it: nobody fails by what nobody waits for."""
    arrivals = application.users.sum(axis=1)
    for call in application.calls:
        if call.awaited:
            arrivals[call.callee] += call.rate
    return np.minimum(1.0, arrivals / application.rate)
