"""ServiceGraph: which application the pod belongs to, and where that application's queue is.

A PreFilter that looks the application up once per pod and writes it into the cycle for the other Pogonip plugins. A
microservice whose queue has no node yet is turned away, to be tried again; so is a pod whose application states no bound.
Pods outside any asynchronous application pass untouched: the other plugins then have no opinion on them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.model.objects import Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal
from ecotone.scheduling.plugins.pogonip.application import ApplicationKey, application_of, is_queue, queue_row

NO_QUEUE_YET = "the message queue of application {} has no node yet"
NO_BOUND = "application {} states no delay bound (annotation ecotone.dev/max-latency)"


@dataclass(frozen=True, slots=True)
class Membership:
    """The pod's place in its application; `queue` is the row of the queue's node (None: this pod is the queue)."""

    application: ApplicationKey
    bound_ms: float
    queue: int | None


class ServiceGraph:
    name = "ServiceGraph"
    placement_changes: Change | None = "everything"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        kind = cycle.pod.kind
        key = application_of(kind)
        cycle.scratch[self.name] = None
        if key is None or (kind.max_latency_ms is None and not is_queue(kind)):
            return None
        if kind.max_latency_ms is None:
            return Refusal(NO_BOUND.format(key))
        queue = None
        if not is_queue(kind):
            queue = queue_row(cycle.state, key)
            if queue is None:
                return Refusal(NO_QUEUE_YET.format(key))
        cycle.scratch[self.name] = Membership(application=key, bound_ms=kind.max_latency_ms, queue=queue)
        return None

    def hint(self, event: Event, pod: Pod) -> bool:
        """Only a pod of the same application can bring a queue."""
        changed = event.new if isinstance(event.new, Pod) else event.old
        return isinstance(changed, Pod) and application_of(changed.kind) == application_of(pod.kind)


def membership(cycle: Cycle) -> Membership | None:
    found = cycle.scratch.get(ServiceGraph.name)
    return found if isinstance(found, Membership) else None
