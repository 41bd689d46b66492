"""NodeDeclaredFeatures: what a pod needs of the kubelet must be among the features its node declares."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.objects import Node, Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection, pick

MISSING = "node(s) didn't match Pod's required features"


class NodeDeclaredFeatures:
    name = "NodeDeclaredFeatures"
    placement_changes: Change | None = "nothing"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        needed = cycle.pod.spec.features
        if not needed:
            return None
        mask = cycle.state.nodes.derived(
            (self.name, needed),
            lambda nodes: np.array([needed <= node.declared_features for node in nodes.nodes], dtype=np.bool_),
        )
        picked: Mask = pick(mask, rows, cycle)
        return picked

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, MISSING, final=True)]

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            had = isinstance(event.old, Node) and pod.spec.features <= event.old.declared_features
            return pod.spec.features <= event.new.declared_features and not had
        return isinstance(event.new, Pod) and event.new.key == pod.key
