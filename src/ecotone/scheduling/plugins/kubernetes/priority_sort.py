"""PrioritySort: higher priority first, then the pod that has waited longest."""

from __future__ import annotations

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, SortKey


class PrioritySort:
    name = "PrioritySort"
    placement_changes: Change | None = "nothing"

    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        return (-pod.spec.priority, pod.created, pod.key)
