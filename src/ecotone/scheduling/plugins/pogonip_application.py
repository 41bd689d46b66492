"""Asynchronous applications as Kubernetes objects: what Pogonip's plugins and solvers read, in one place.

An application is the pods of one `app-group` in one namespace. The pod labelled `ecotone.dev/role: message-queue` is its
queue; the delay bound is the strictest `ecotone.dev/max-latency` among its pods. The control node is the one labelled as
control plane; a node of any tier but `cloud` counts as edge.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.nodes import NodeTable
from ecotone.model.objects import PodKind

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
