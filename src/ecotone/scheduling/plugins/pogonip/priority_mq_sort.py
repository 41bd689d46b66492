"""PriorityMqSort: the strictest delay bound first, within it every message queue before any microservice.

Then as PrioritySort: higher priority, earlier creation. Pods without a bound come last. Because queues of equal bounds
precede all microservices, the largest components, and the only ones that cannot leave the edge, find it empty.
"""

from __future__ import annotations

from math import inf

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, SortKey
from ecotone.scheduling.plugins.pogonip.application import is_queue


class PriorityMqSort:
    name = "PriorityMqSort"
    placement_changes: Change | None = "nothing"

    def sort_key(self, state: ClusterState, pod: Pod) -> SortKey:
        bound = inf if pod.kind.max_latency_ms is None else pod.kind.max_latency_ms
        return (bound, not is_queue(pod.kind), -pod.spec.priority, pod.created, pod.key)
