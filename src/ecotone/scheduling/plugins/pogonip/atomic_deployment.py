"""AtomicDeployment: all pods of an application get a node, or none does.

A Permit plugin that holds each pod until every pod of its application that still waits for a node has one. The number is
what the cluster shows, or what the application's workloads promise if the controllers have not made all pods yet. On a
live cluster objects arrive one after the other, and an application placed the moment it is complete takes the edge from
the queues of those that follow. So all are held until the newest pod of any application is `settleSeconds` old, but none
for longer than five times that; in a file, where everything is there, it is 0. The engine releases the places of an
application as soon as one of its pods fits nowhere, and lets the others try again without it, so that no application
waits for one that cannot be placed. Places are held for `timeoutSeconds` at most.
"""

from __future__ import annotations

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.arrival import settling
from ecotone.scheduling.plugin import Change, Cycle, Hold
from ecotone.scheduling.plugins.pogonip.application import ApplicationKey, application_of, pending_pods
from ecotone.scheduling.plugins.pogonip.service_graph import membership


class AtomicDeployment:
    name = "AtomicDeployment"
    placement_changes: Change | None = "nothing"

    def __init__(self, *, timeoutSeconds: float = 60.0, settleSeconds: float = 0.0) -> None:
        self.timeout = timeoutSeconds
        self.settle = settleSeconds

    def permit(self, cycle: Cycle, row: int) -> Hold | None:
        member = membership(cycle)
        return None if member is None else self._hold(cycle.state, member.application)

    def incomplete(self, state: ClusterState, pod: Pod) -> Hold | None:
        """For solvers, which place what they are given as a whole: the hold, as long as pods are to be waited for."""
        key = application_of(pod.kind)
        if key is None or self.group_of(pod) is None:
            return None
        hold = self._hold(state, key)
        return hold if hold.needed > len(pending_pods(state, key)) else None

    def _hold(self, state: ClusterState, application: ApplicationKey) -> Hold:
        waiting = pending_pods(state, application)
        missing = max(0, promised(state, application) - known(state, application))
        if self.settle > 0 and self._unsettled(state, waiting):
            missing = max(missing, 1)
        why = f"application {application} is deployed as a whole"
        return Hold(group=str(application), needed=len(waiting) + missing, seconds=self.timeout, why=why)

    def _unsettled(self, state: ClusterState, waiting: list[Pod]) -> bool:
        own = max(pod.created for pod in waiting)
        newest = max(pod.created for pod in state.pending.values() if self.group_of(pod) is not None)
        return settling(now=state.now, own=own, newest=newest, settle=self.settle)

    def group_of(self, pod: Pod) -> str | None:
        """The group whose places go back when this pod finds none."""
        key = application_of(pod.kind)
        return None if key is None or pod.kind.max_latency_ms is None else str(key)


def promised(state: ClusterState, key: ApplicationKey) -> int:
    """Pods the application's workloads ask for, as far as they say."""
    return sum(
        workload.replicas or 0
        for workload in state.workloads.values()
        if workload.app_group == key.group and workload.key.namespace == key.namespace
    )


def known(state: ClusterState, key: ApplicationKey) -> int:
    """Pods of the application that exist, placed or not."""
    placed = sum(sum(rows.values()) for kind, rows in state.usage.placed.items() if application_of(kind) == key)
    return placed + len(pending_pods(state, key))
