"""NodeUnschedulable: cordoned nodes take only pods that tolerate the taint of the same name."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.model.arrays import Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Node, Pod
from ecotone.model.selectors import Taint
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection, pick

UNSCHEDULABLE = "node(s) were unschedulable"
CORDON = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")


class NodeUnschedulable:
    name = "NodeUnschedulable"
    placement_changes: Change | None = "nothing"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        open_rows = cycle.state.nodes.derived(self.name, _open_rows)
        if open_rows is None or _tolerated(cycle.pod):
            return None
        mask: Mask = pick(open_rows, rows, cycle)
        return mask

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, UNSCHEDULABLE, final=True)]

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            was_closed = not isinstance(event.old, Node) or event.old.unschedulable
            return was_closed and not event.new.unschedulable
        return isinstance(event.new, Pod) and event.new.key == pod.key and _tolerated(event.new)


def _open_rows(nodes: NodeTable) -> Mask | None:
    return ~nodes.unschedulable if nodes.unschedulable.any() else None


def _tolerated(pod: Pod) -> bool:
    return any(each.tolerates(CORDON) for each in pod.spec.tolerations)
