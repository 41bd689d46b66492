"""Capacity held for the replacement of an evicted pod.

Between an eviction and the replacement's binding somebody else could take the place the move was made for, and the whole
disruption would have been for nothing. A reservation counts as used for everybody but the first waiting pod of its
workload and template, and that pod goes there if it still can. Pods that are ending still take room, those that the same
plan has made leave among them: for a place that only they keep taken the replacement waits.
"""

from __future__ import annotations

from ecotone.model.objects import Pod, Reservation
from ecotone.model.state import ClusterState


class Reservations:
    """The reservations in force during one round, held on the working copy of the cluster."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._held: list[Reservation] = []
        for each in state.reservations:
            if each.expires > state.now and not each.taken_by and each.node in state.nodes.index:
                self._count(each, +1)
                self._held.append(each)

    def __bool__(self) -> bool:
        return bool(self._held)

    def claim(self, pod: Pod) -> Reservation | None:
        """Hands the pod what was kept for it: from now on the capacity is free, for it to take."""
        for each in self._held:
            if each.workload == pod.kind.workload and each.template_hash in ("", pod.template_hash):
                self._held.remove(each)
                self._count(each, -1)
                return each
        return None

    def give_back(self, reservation: Reservation) -> None:
        """It was claimed, and its pod could not take it yet."""
        self._held.append(reservation)
        self._count(reservation, +1)

    def _count(self, reservation: Reservation, sign: int) -> None:
        nodes = self._state.nodes
        held = dict(reservation.requests)
        nonzero = held.get("cpu", 0), held.get("memory", 0)
        self._state.usage.hold(reservation.requests, nonzero, nodes.index[reservation.node], nodes, sign)


def without_ending(state: ClusterState, node: str) -> ClusterState | None:
    """The cluster as it will be when all pods that are ending on this node are gone; None if there are none."""
    ending = [pod.key for pod in state.usage.pods_on[state.nodes.index[node]] if pod.deleting]
    if not ending:
        return None
    later = ClusterState.of(state.freeze())
    for key in ending:
        later.lift(key)
    return later
