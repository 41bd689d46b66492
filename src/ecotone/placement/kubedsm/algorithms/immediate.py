"""Algorithm 1, immediateSchedule, with the part of Algorithm 7 that binds: new pods at once, and nothing else moved."""

from __future__ import annotations

import numpy as np

from ecotone.placement.kubedsm.algorithms.decision import Decision, make_decision
from ecotone.placement.kubedsm.cluster import Binding, Cluster
from ecotone.placement.kubedsm.parameters import Parameters


def immediate_schedule(cluster: Cluster, parameters: Parameters) -> tuple[Decision, tuple[Binding, ...]]:
    """The decision on all waiting pods (at most a batch), and where each goes; those that fit nowhere are left out."""
    decision = make_decision(cluster, cluster.waiting, migrate=False, parameters=parameters)
    return decision, (*decision.to_edge, *to_cloud(cluster, decision))


def to_cloud(cluster: Cluster, decision: Decision) -> tuple[Binding, ...]:
    """Waiting pods that the decision does not put on the edge."""
    now = cluster.after(decision.migrations.all).after(decision.to_edge)
    found: list[Binding] = []
    for service in np.repeat(np.arange(len(cluster.services)), np.maximum(now.waiting, 0)).tolist():
        node = now.roomiest_cloud(service)
        if node is not None:
            found.append(Binding(service, node))
            now = now.after(found[-1:])
    return tuple(found)
