"""Capacity held for the replacement of an evicted pod.

Between an eviction and the replacement's binding somebody else could take the place the move was made for, and the whole
disruption would have been for nothing. A reservation counts as used for everybody but the first waiting pod of its
workload and template, and that pod goes there if it still can. Pods that are ending still take room, those that the same
plan has made leave among them: for a place that only they keep taken the replacement waits.

A place that is kept is worth no more than the pod it is kept for: a pod of higher priority that fits nowhere else takes
its room. And moves block only so much of a node for others: the first reservation of a node, and further ones while they
hold half of it at most together. What is beyond shows its pod the way and holds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.model.objects import Pod, Reservation
from ecotone.model.state import ClusterState

SHARE = 0.5
"""Of a node's CPU and of its memory: what several reservations may hold together."""


class Reservations:
    """The reservations in force during one round, held on the working copy of the cluster.

    `share` is None for whoever makes moves: what earlier ones want is not free for his, however much it is.
    """

    def __init__(self, state: ClusterState, *, share: float | None = SHARE) -> None:
        self._state = state
        self._share = share
        self._kept: list[Reservation] = []
        self._held: list[Reservation] = []
        for each in state.reservations:
            if each.expires > state.now and not each.taken_by and each.node in state.nodes.index:
                self._kept.append(each)
                if self._within_share(each):
                    self._hold(each)

    def __bool__(self) -> bool:
        return bool(self._kept)

    def claim(self, pod: Pod) -> Reservation | None:
        """Hands the pod what was kept for it: from now on the capacity is free, for it to take."""
        for each in self._kept:
            if each.workload == pod.kind.workload and each.template_hash in ("", pod.template_hash):
                self._kept.remove(each)
                self._free(each)
                return each
        return None

    def give_back(self, reservation: Reservation) -> None:
        """It was claimed, and its pod could not take it yet."""
        self._kept.append(reservation)
        if self._within_share(reservation):
            self._hold(reservation)

    def release(self, priority: int) -> list[Reservation]:
        """Frees for a while what is held for pods of lower priority."""
        freed = [each for each in self._held if each.priority < priority]
        for each in freed:
            self._free(each)
        return freed

    def hold_again(self, freed: Sequence[Reservation], *, but: str | None) -> None:
        """After `release`; on the node `but` somebody has taken the room."""
        for each in freed:
            if each.node != but:
                self._hold(each)

    def _within_share(self, reservation: Reservation) -> bool:
        there = [each for each in self._held if each.node == reservation.node]
        if self._share is None or not there:
            return True
        nodes = self._state.nodes
        allocatable = nodes.nodes[nodes.index[reservation.node]].allocatable
        return all(
            sum(dict(each.requests).get(name, 0) for each in (*there, reservation))
            <= self._share * allocatable.get(name, 0)
            for name in ("cpu", "memory")
        )

    def _hold(self, reservation: Reservation) -> None:
        self._held.append(reservation)
        self._count(reservation, +1)

    def _free(self, reservation: Reservation) -> None:
        if reservation in self._held:
            self._held.remove(reservation)
            self._count(reservation, -1)

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
