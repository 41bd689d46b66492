"""NodePorts: a host port can be taken once per node, protocol and address, and the wildcard address is every address.

Over the whole cluster it is asked per kind of pod (few kinds have host ports), on a single node from that node's list.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.objects import HostPort, Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection

NO_FREE_PORTS = "node(s) didn't have free ports for the requested pod ports"
_FEW = 8


class NodePorts:
    name = "NodePorts"
    placement_changes: Change | None = "row"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        wanted, usage = cycle.pod.spec.host_ports, cycle.state.usage
        if not wanted:
            return None
        if len(rows) <= _FEW:
            return np.array([not _clash(wanted, usage.ports.get(int(row), ())) for row in rows], dtype=np.bool_)
        free = np.ones(len(cycle.state.nodes), dtype=np.bool_)
        for kind in usage.kinds.with_ports:
            if _clash(wanted, kind.spec.host_ports):
                free[usage.everywhere(kind)[0]] = False
        return free if rows is cycle.state.nodes.all_rows else free[rows]

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, NO_FREE_PORTS)]

    def hint(self, event: Event, pod: Pod) -> bool:
        if event.action == "delete" and isinstance(event.old, Pod):
            return event.old.node is not None and _clash(pod.spec.host_ports, event.old.spec.host_ports)
        return event.resource == "node" and event.action == "add"


def _clash(wanted: Sequence[HostPort], taken: Sequence[HostPort]) -> bool:
    return any(mine.conflicts(theirs) for mine in wanted for theirs in taken)
