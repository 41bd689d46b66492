"""Asynchronous applications as Kubernetes objects: what Pogonip's plugins and solvers read, in one place.

An application is the pods of one `app-group` in one namespace. The pod labelled `ecotone.dev/role: message-queue` is its
queue; the delay bound is the strictest `ecotone.dev/max-latency` among its pods. The control node is the one labelled as
control plane; a node of any tier but `cloud` counts as edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Pod, PodKind
from ecotone.model.selectors import LabelSelector
from ecotone.model.state import ClusterState

GROUP_LABEL = "app-group"
QUEUE_ROLE = "message-queue"
CONTROL_LABEL = "node-role.kubernetes.io/control-plane"
CLOUD_TIER = "cloud"


@dataclass(frozen=True, slots=True, order=True)
class ApplicationKey:
    namespace: str
    group: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.group}"


def application_of(kind: PodKind) -> ApplicationKey | None:
    return None if kind.app_group is None else ApplicationKey(kind.namespace, kind.app_group)


def is_queue(kind: PodKind) -> bool:
    return kind.role == QUEUE_ROLE


def control_rows(nodes: NodeTable) -> Rows:
    codes, _ = nodes.labels(CONTROL_LABEL)
    return np.flatnonzero(codes >= 0)


def cloud_rows(nodes: NodeTable) -> Mask:
    return nodes.tier_is(CLOUD_TIER)


def queue_row(state: ClusterState, key: ApplicationKey) -> int | None:
    """The row of the node that runs (or was just given) the application's queue."""
    group = LabelSelector.of_labels({GROUP_LABEL: key.group})
    for kind in state.usage.kinds.matching(group, frozenset({key.namespace})):
        if is_queue(kind):
            rows, _ = state.usage.where(kind)
            if len(rows):
                return int(rows[0])
    return None


def pending_pods(state: ClusterState, key: ApplicationKey) -> list[Pod]:
    return [pod for pod in state.pending.values() if application_of(pod.kind) == key]


def distance_to_control(state: ClusterState) -> Floats:
    """Milliseconds from every node to the nearest control node; infinite when no node is labelled as one."""
    rows = control_rows(state.nodes)
    if not len(rows):
        return np.full(len(state.nodes), np.inf)
    nearest: Floats = np.min([state.network.toward(int(row)) for row in rows], axis=0)
    return nearest
