"""NodeName: a pod that was created for one node by name goes nowhere else.

A pod whose `nodeName` is set counts as bound, so the only ones that are ever judged with a name fixed from outside are
mirror pods: what a kubelet runs from its own files and only shows to the API server.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.objects import Node, Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection

WRONG_NAME = "node(s) didn't match the requested node name"


class NodeName:
    name = "NodeName"
    placement_changes: Change | None = "nothing"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        pod = cycle.pod
        if not pod.mirror or pod.node is None:
            return None
        wanted = cycle.state.nodes.index.get(pod.node, -1)
        return np.asarray(rows == wanted)

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, WRONG_NAME, final=True)]

    def hint(self, event: Event, pod: Pod) -> bool:
        return event.action == "add" and isinstance(event.new, Node) and event.new.name == pod.node
