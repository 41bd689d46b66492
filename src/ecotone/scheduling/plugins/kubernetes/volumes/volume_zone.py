"""VolumeZone: a bound volume that carries zone or region labels is reachable only from nodes with one of these values.

Nodes without any such label are taken to be in a cluster of a single zone and pass.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Claim, Node, Pod, Volume
from ecotone.model.selectors import Requirement
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, pick

WRONG_ZONE = "node(s) had no available volume zone"
NO_VOLUME = 'persistentvolume "{}" not found'

ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
OLD_ZONE, OLD_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
TODAY = {OLD_ZONE: ZONE, OLD_REGION: REGION}
LABELS = (OLD_ZONE, OLD_REGION, ZONE, REGION)

Demands = tuple[tuple[str, tuple[str, ...]], ...]


class VolumeZone:
    name = "VolumeZone"
    placement_changes: Change | None = "nothing"

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        cycle.scratch[self.name] = ()
        pod, state = cycle.pod, cycle.state
        demands: list[tuple[str, tuple[str, ...]]] = []
        for name in pod.spec.claims:
            claim = state.claims.get(f"{pod.namespace}/{name}")
            if claim is None or claim.volume is None:
                continue
            volume = state.volumes.get(claim.volume)
            if volume is None:
                return Refusal(NO_VOLUME.format(claim.volume))
            demands += [(key, tuple(value.split("__"))) for key, value in volume.labels if key in LABELS]
        cycle.scratch[self.name] = tuple(demands)
        return None

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        demands: Demands = cycle.scratch[self.name]
        if not demands:
            return None
        mask = cycle.state.nodes.derived((self.name, demands), lambda nodes: _reachable(nodes, demands))
        picked: Mask = pick(mask, rows, cycle)
        return picked

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, WRONG_ZONE, final=True)]

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Claim):
            return event.new.namespace == pod.namespace and event.new.name in pod.spec.claims
        if isinstance(event.new, Node):
            old = event.old.labels if isinstance(event.old, Node) else {}
            added = not isinstance(event.old, Node)
            return added or any(old.get(key) != event.new.labels.get(key) for key in LABELS)
        return isinstance(event.new, Volume) or event.resource == "storage-class"


def _reachable(nodes: NodeTable, demands: Demands) -> Mask:
    mask = np.ones(len(nodes), dtype=np.bool_)
    for key, values in demands:
        here = nodes.meets(Requirement(key, "In", values))
        if key in TODAY:
            # Where the node lacks the old label its present name counts.
            absent = nodes.meets(Requirement(key, "DoesNotExist"))
            here = here | (absent & nodes.meets(Requirement(TODAY[key], "In", values)))
        mask = mask & here
    unlabelled = np.ones(len(nodes), dtype=np.bool_)
    for key in LABELS:
        unlabelled &= nodes.meets(Requirement(key, "DoesNotExist"))
    return mask | unlabelled
