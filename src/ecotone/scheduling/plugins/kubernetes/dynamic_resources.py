"""DynamicResources: devices claimed through resource claims are not allocated here, so such pods wait, visibly.

Choosing devices needs the resource slices and the drivers' own selection language. Placing a pod without that would put it
on a node where it cannot start; refusing keeps it for a scheduler that can.
"""

from __future__ import annotations

from ecotone.model.objects import Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal

UNSUPPORTED = "pod has resource claims ({}), and this scheduler does not allocate devices"


class DynamicResources:
    name = "DynamicResources"
    placement_changes: Change | None = "nothing"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        claims = cycle.pod.spec.resource_claims
        return Refusal(UNSUPPORTED.format(", ".join(claims))) if claims else None

    def postfilter(self, cycle: Cycle, evaluation: object) -> str:
        """Nothing was allocated, so nothing can be given back; events say so, as kube-scheduler's do."""
        return "no new claims to deallocate"

    def hint(self, event: Event, pod: Pod) -> bool:
        """Nothing in the cluster changes what this scheduler can do; only the pod itself can."""
        return isinstance(event.new, Pod) and event.new.key == pod.key and not event.new.spec.resource_claims
