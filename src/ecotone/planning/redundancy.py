"""What a plan does to redundancy: nodes and zones of every workload, now and after it, and what of it is given up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ecotone.model.decisions import Bind, Decision, Evict, Preempt
from ecotone.model.objects import WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.planning.survival import standing
from ecotone.scheduling.redundancy.choice import GIVEN_UP, misses_one
from ecotone.scheduling.redundancy.want import ZONE

Change = tuple[int, int]


def spread_of(now: ClusterState, after: ClusterState, *, namespace: str | None) -> dict[str, dict[str, Change]]:
    """Of each workload with pods: nodes and zones, before and after."""
    before, later = _spread(now), _spread(after)
    return {
        str(workload): {
            "nodes": (before.get(workload, (0, 0))[0], later.get(workload, (0, 0))[0]),
            "zones": (before.get(workload, (0, 0))[1], later.get(workload, (0, 0))[1]),
        }
        for workload in sorted(before.keys() | later.keys())
        if namespace in (None, workload.namespace)
    }


def _spread(state: ClusterState) -> Mapping[WorkloadKey, Change]:
    codes = state.nodes.labels(ZONE)[0]
    found = {}
    for workload, rows in standing(state).items():
        zones = np.unique(codes[list(rows)])
        found[workload] = (len(rows), int((zones >= 0).sum()))
    return found


def warnings_of(after: ClusterState, decisions: Iterable[Decision], *, namespace: str | None) -> list[str]:
    """What decisions give up, and which workloads stand closer together than they should when all is done."""
    told = [
        f"{each.pod}: {each.why[each.why.index(GIVEN_UP) :]}"
        for each in decisions
        if isinstance(each, Bind | Evict | Preempt) and GIVEN_UP in each.why
    ]
    said = {each.pod for each in decisions if GIVEN_UP in getattr(each, "why", "")}
    known = {pod.kind.workload for key in said if (pod := after.find_pod(key)) is not None}
    for workload, rows in standing(after).items():
        kinds = after.named.get((workload.namespace, workload.name), ())
        kind = next((each for each in kinds if each.workload == workload and len(after.usage.where(each)[0])), None)
        if kind is None or namespace not in (None, workload.namespace) or workload in known:
            continue
        if misses_one(after, kind):
            count = sum(rows.values())
            places = "node" if len(rows) == 1 else "nodes"
            told.append(
                f"{workload}: its {count} replicas stand on {len(rows)} {places}, closer together than they should"
            )
    return told
