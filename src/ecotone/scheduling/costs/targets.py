"""QoS targets: what a workload was promised, and what each node means for the promise, in milliseconds.

    T = mean over the workload's pods of t(node),   Q = target-latency, or t_cloud - share (t_cloud - t_edge)

t(node) is the latency that the application's owner declares for the node's tier (`AppGroup.spec.qos.latency`). Where a
share is promised and no tier has a latency, the constants of the KubeDSM paper stand in: only their order matters then. A
promise in milliseconds without declared tiers is judged by the round trips to the workload's users. A workload without a
promise has no target, and nothing here concerns it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np

from ecotone.model.arrays import Floats, Ints
from ecotone.model.objects import Pod, PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.lookahead import pull_of
from ecotone.scheduling.profiles import registry

TIERS_MS = {"edge": 50.0, "fog": 50.0, "cloud": 300.0}
GUIDE = "targets"
WEIGHT = 1000.0
"""Milliseconds over target against milliseconds of predicted response time: targets come first, in effect."""


class Target(msgspec.Struct, frozen=True, eq=False):
    """`latency` of every node and what was promised, in milliseconds."""

    latency: Floats
    promised: float


def target_of(state: ClusterState, kind: PodKind) -> Target | None:
    workload = state.workloads.get(kind.workload)
    if workload is None or (workload.edge_share is None and workload.target_latency_ms is None):
        return None
    group = (kind.namespace, kind.app_group)
    declared = next((each.tier_latency_ms for each in state.app_groups if (each.namespace, each.name) == group), {})
    if not declared and workload.edge_share is None:
        return _by_users(state, kind, workload.target_latency_ms or 0.0)
    tiers = declared or TIERS_MS
    far, near = max(tiers.values()), min(tiers.values())
    latency = np.array([tiers.get(node.tier or "", far) for node in state.nodes.nodes])
    if workload.edge_share is not None:
        promised = far - workload.edge_share * (far - tiers.get("edge", near))
    else:
        promised = workload.target_latency_ms or 0.0
    return Target(latency, promised)


def _by_users(state: ClusterState, kind: PodKind, promised: float) -> Target | None:
    targets, weights = pull_of(state, (kind.workload.namespace, kind.workload.name))
    if not len(targets) or not state.network.anything_known or float(weights.sum()) <= 0.0:
        return None
    return Target(state.network.weighted(targets, weights) / float(weights.sum()), promised)


def placed_pods(state: ClusterState, kind: PodKind) -> Ints:
    """Pods of the workload on each node, those on their way out left aside."""
    count = np.zeros(len(state.nodes), np.int64)
    for each in state.named.get((kind.namespace, kind.workload.name), ()):
        if each.workload == kind.workload:
            for row, number in state.usage.peers.get(each, {}).items():
                count[row] += number
    return count


def missed_ms(state: ClusterState, kind: PodKind) -> Floats | None:
    """Milliseconds over target with one more pod of the workload on each node; None without a target."""
    target = target_of(state, kind)
    if target is None:
        return None
    there = placed_pods(state, kind)
    mean = (float(there @ target.latency) + target.latency) / (float(there.sum()) + 1.0)
    missed: Floats = np.maximum(0.0, mean - target.promised)
    return missed


class _Guided(msgspec.Struct, frozen=True, eq=False):
    """Worked out once for these pods; it holds as long as no others have come."""

    pods: frozenset[str]
    wanted: Mapping[PodKind, Ints]


def lacking(state: ClusterState, pod: Pod) -> Ints | None:
    """Pods of this kind that each node still lacks of what suits all waiting pods together; None: nothing to go by."""
    if pod.key not in state.pending:
        return None
    guided = state.notes.get(GUIDE)
    if not isinstance(guided, _Guided) or not state.pending.keys() <= guided.pods:
        guided = _Guided(frozenset(state.pending), registry.find_guide(GUIDE)(state))
        state.notes[GUIDE] = guided
    wanted = guided.wanted.get(pod.kind)
    if wanted is None or len(wanted) != len(state.nodes):
        return None
    there = np.zeros(len(wanted), np.int64)
    for row, number in state.usage.peers.get(pod.kind, {}).items():
        there[row] = number
    left: Ints = np.maximum(0, wanted - there)
    return left if left.any() else None
