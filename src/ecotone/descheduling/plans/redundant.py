"""Redundancy on the way of a plan: what each of its stages has to keep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ecotone.descheduling.run import Run
from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.scheduling.redundancy.tables import Redundancy, redundancy_of
from ecotone.scheduling.redundancy.want import ZONE
from ecotone.scheduling.response.call_graph import CallGraph


@dataclass(frozen=True, slots=True, eq=False)
class Redundant:
    """`ends`: what every stage ends with; `meanwhile`: what those that serve while one is replaced should have.

    `surge`: workloads may go by surge for it.
    """

    ends: Redundancy
    meanwhile: Redundancy
    surge: bool

    def spared(self, replicas: Ints) -> Ints:
        """How many pods of each workload may be missing at a time."""
        found: Ints = np.maximum(1, replicas - np.maximum(self.meanwhile.nodes, self.meanwhile.zones))
        return found

    def lowered(self, before: Floats, during: Floats, after: Floats) -> Mask:
        """[w]: workloads that stand closer together during one of these stages [s, w, n], or after it, than they should."""
        thinner: Mask = self.meanwhile.lacking(during) & ~self.meanwhile.lacking(before)
        closer: Mask = self.ends.lacking(after) & ~self.ends.lacking(before[:1])
        found: Mask = np.logical_or.reduce(np.concatenate([thinner, closer]), axis=0)
        return found


def redundant_of(run: Run, application: CallGraph) -> Redundant | None:
    """By what the application has now; None where the policy does not care."""
    if not run.framework.keeps_redundancy:
        return None
    everywhere = np.ones(application.counts.shape, dtype=np.bool_)
    graph = (run.state, application.kinds, application.counts, application.zones, application.rtt)
    return Redundant(
        ends=redundancy_of(*graph, possible=everywhere),
        meanwhile=redundancy_of(*graph, possible=everywhere, replicas=application.replicas - 1, kept=False),
        surge=run.settings.single_replicas == "surge",
    )


def closer_by(run: Run, moved: Iterable[tuple[Pod, str]]) -> tuple[str, ...]:
    """The workloads that would come to stand closer together than they should with these pods on these nodes."""
    if not run.framework.keeps_redundancy:
        return ()
    state = run.state
    targets: dict[WorkloadKey, list[tuple[int, int]]] = {}
    kinds = {}
    for pod, target in moved:
        kinds[pod.kind.workload] = pod.kind
        rows = (state.nodes.index[pod.node or ""], state.nodes.index[target])
        targets.setdefault(pod.kind.workload, []).append(rows)
    found = []
    zones, nothing = state.nodes.labels(ZONE)[0].astype(np.int64), np.zeros((0, 0))
    for workload, steps in sorted(targets.items()):
        counts = np.zeros((1, len(state.nodes)), dtype=np.int64)
        for pod in run.pods_of(workload):
            if pod.is_peer:
                counts[0, state.nodes.index[pod.node or ""]] += 1
        after = counts.astype(np.float64)
        for leaves, comes in steps:
            after[0, leaves] -= 1
            after[0, comes] += 1
        everywhere = np.ones(counts.shape, dtype=np.bool_)
        floor = redundancy_of(state, [kinds[workload]], counts, zones, nothing, possible=everywhere)
        if floor.lacks(0, after)[0] and not floor.lacks(0, counts.astype(np.float64))[0]:
            found.append(str(workload))
    return tuple(found)
