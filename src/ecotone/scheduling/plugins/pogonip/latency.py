"""Latency: nodes beyond the application's delay bound are out.

A queue must be within the bound of the control node, a microservice within the bound of its queue. Cloud nodes pass for
microservices whatever their delay, as published, and never for queues: the text forbids it, the released code forgot.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Floats, Mask, Rows
from ecotone.model.objects import Pod
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection, pick
from ecotone.scheduling.plugins.pogonip.application import cloud_rows, distance_to_control
from ecotone.scheduling.plugins.pogonip.service_graph import Membership, membership

TOO_FAR_FROM_CONTROL = "node(s) too far from the control node for the message queue"
TOO_FAR_FROM_QUEUE = "node(s) too far from the message queue"
NOT_FOR_QUEUES = "cloud node(s) must not host a message queue"


class Latency:
    name = "Latency"
    placement_changes: Change | None = "nothing"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        member = membership(cycle)
        if member is None:
            return None
        near = self._delay(cycle, member) <= member.bound_ms
        cloud = cloud_rows(cycle.state.nodes)
        mask: Mask = near & ~cloud if member.queue is None else near | cloud
        return np.asarray(pick(mask, rows, cycle), dtype=np.bool_)

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        member = membership(cycle)
        if member is None:
            return []
        far = pick(self._delay(cycle, member) > member.bound_ms, rows, cycle)
        cloud = pick(cloud_rows(cycle.state.nodes), rows, cycle)
        if member.queue is None:
            return [
                Rejection(cloud, NOT_FOR_QUEUES, final=True),
                Rejection(far & ~cloud, TOO_FAR_FROM_CONTROL, final=True),
            ]
        return [Rejection(far & ~cloud, TOO_FAR_FROM_QUEUE, final=True)]

    def hint(self, event: Event, pod: Pod) -> bool:
        return event.resource == "node"

    @staticmethod
    def _delay(cycle: Cycle, member: Membership) -> Floats:
        if member.queue is None:
            return distance_to_control(cycle.state)
        return cycle.state.network.toward(member.queue)
