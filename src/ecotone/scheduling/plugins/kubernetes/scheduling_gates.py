"""SchedulingGates: a pod with gates does not enter the queue until somebody has removed them all."""

from __future__ import annotations

from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.plugin import Change, Event

WAITING = "waiting for scheduling gates: [{}]"


class SchedulingGates:
    name = "SchedulingGates"
    placement_changes: Change | None = "nothing"

    def admit(self, state: ClusterState, pod: Pod) -> str | None:
        gates = pod.spec.gates
        return WAITING.format(" ".join(gates)) if gates else None

    def hint(self, event: Event, pod: Pod) -> bool:
        """Only the pod's own update can take a gate away."""
        return isinstance(event.new, Pod) and event.new.key == pod.key and not event.new.spec.gates
