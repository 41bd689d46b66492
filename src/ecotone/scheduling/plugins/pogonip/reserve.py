"""Reserve: the last look at the application's bound before a place is taken.

The prototype kept the application's placement in this plugin. Here the cluster state itself knows who was just given which
node, so nothing has to be remembered or undone; what is left is to make sure that the place still obeys the bound, which
matters when a place was chosen for other reasons than the filters (a reservation, a nomination).
"""

from __future__ import annotations

from ecotone.scheduling.plugin import Change, Cycle
from ecotone.scheduling.plugins.pogonip.application import cloud_rows, distance_to_control
from ecotone.scheduling.plugins.pogonip.service_graph import membership


class ReservePlacement:
    name = "ReservePlacement"
    placement_changes: Change | None = "nothing"

    def reserve(self, cycle: Cycle, row: int) -> str | None:
        member = membership(cycle)
        if member is None:
            return None
        node, cloud = cycle.state.nodes.names[row], bool(cloud_rows(cycle.state.nodes)[row])
        if member.queue is None:
            if cloud:
                return f"a message queue must not run on cloud node {node}"
            delay, whom = float(distance_to_control(cycle.state)[row]), "the control node"
        elif cloud:
            return None
        else:
            delay, whom = float(cycle.state.network.toward(member.queue)[row]), "its message queue"
        if delay > member.bound_ms:
            return f"{node} is {delay:g} ms from {whom}, bound {member.bound_ms:g} ms"
        return None

    def unreserve(self, cycle: Cycle, row: int) -> None:
        """Nothing was written down, so there is nothing to take back."""
