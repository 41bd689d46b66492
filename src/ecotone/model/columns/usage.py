"""Who runs where, as columns that a placement changes in a few places.

`Usage` is the mutable half of a cluster: sums per node, the pods behind them, and counts per pod kind and node. The live
cache applies watch events to it, the engine applies its own decisions to a copy. A copy is cheap: arrays are small, and
the counts of a kind are shared until one side writes to them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ecotone.model.arrays import Ints, Rows
from ecotone.model.columns.kinds import KindIndex
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import HostPort, Pod, PodKind
from ecotone.model.quantity import MOST_ON_A_NODE

Requests = tuple[tuple[str, int], ...]


class Counts(dict[int, int]):
    """Row -> how many, never 0. Shared by all copies of a `Usage` until one writes, and so is its form as arrays."""

    __slots__ = ("_vectors",)  # not there until somebody asks: every kind of pod has several of these
    _vectors: tuple[Rows, Ints] | None

    def bump(self, row: int, by: int) -> None:
        self._vectors = None
        left = self.get(row, 0) + by
        if left:
            self[row] = left
        else:
            self.pop(row, None)

    @property
    def vectors(self) -> tuple[Rows, Ints]:
        """The rows in ascending order, and the count of each."""
        known = getattr(self, "_vectors", None)
        if known is None:
            rows = np.fromiter(self.keys(), dtype=np.intp, count=len(self))
            amounts = np.fromiter(self.values(), dtype=np.int64, count=len(self))
            order = np.argsort(rows)
            known = self._vectors = (rows[order], amounts[order])
        return known


_NOWHERE = Counts()


class Usage:
    def __init__(self, nodes: NodeTable) -> None:
        size = len(nodes)
        self.requested: Ints = np.zeros((size, len(nodes.resources)), dtype=np.int64)
        self.nonzero: Ints = np.zeros((size, 2), dtype=np.int64)
        self.pod_count: Ints = np.zeros(size, dtype=np.int64)
        self.beyond: dict[tuple[int, str], int] = {}
        self.recent: dict[PodKind, Counts] = {}
        self.recent_keys: set[str] = set()
        self.given: dict[str, int] = {}
        self.pods_on: list[tuple[Pod, ...]] = [()] * size
        self.ports: dict[int, tuple[HostPort, ...]] = {}
        self.placed: dict[PodKind, Counts] = {}
        self._own: set[PodKind] = set()
        self._own_recent: set[PodKind] = set()
        self.peers: dict[PodKind, Counts] = {}
        self.kinds = KindIndex()

    def copy(self) -> Usage:
        """An independent twin; both sides stop owning the counts they share."""
        twin = object.__new__(Usage)
        twin.requested = self.requested.copy()
        twin.nonzero = self.nonzero.copy()
        twin.pod_count = self.pod_count.copy()
        twin.beyond = self.beyond.copy()
        twin.recent = self.recent.copy()
        twin.recent_keys = self.recent_keys.copy()
        twin.given = self.given.copy()
        twin.pods_on = self.pods_on.copy()
        twin.ports = self.ports.copy()
        twin.placed = self.placed.copy()
        twin.peers = self.peers.copy()
        twin._own, twin._own_recent = set(), set()
        twin.kinds = self.kinds
        self._own, self._own_recent = set(), set()
        return twin

    def add(self, pod: Pod, row: int, nodes: NodeTable) -> None:
        self._tally(pod, row, nodes, +1)
        self.pods_on[row] = (*self.pods_on[row], pod)
        if pod.spec.host_ports:
            self.ports[row] = (*self.ports.get(row, ()), *pod.spec.host_ports)

    def remove(self, pod: Pod, row: int, nodes: NodeTable) -> None:
        self._tally(pod, row, nodes, -1)
        self.pods_on[row] = tuple(each for each in self.pods_on[row] if each.key != pod.key)
        if pod.spec.host_ports:
            left = tuple(port for each in self.pods_on[row] for port in each.spec.host_ports)
            if left:
                self.ports[row] = left
            else:
                self.ports.pop(row, None)

    def swap(self, before: Pod, after: Pod, row: int) -> None:
        """A new version of a pod that holds what it held."""
        self.pods_on[row] = tuple(after if each is before else each for each in self.pods_on[row])

    def recount(self, before: Pod, after: Pod, row: int) -> None:
        """The same pod counts as one of another kind."""
        self._count(after, row, +1)
        self._count(before, row, -1)

    def note_recent(self, pod: Pod, row: int) -> None:
        """The pod came after its node was measured: what it uses is not in the measurement yet."""
        if pod.key not in self.recent_keys:
            self.recent_keys.add(pod.key)
            self._count_recent(pod.kind, row, +1)

    def forget_recent(self, pod: Pod, row: int) -> bool:
        """The pod is gone, or measured by now; whether it had been noted."""
        if pod.key not in self.recent_keys:
            return False
        self.recent_keys.remove(pod.key)
        self._count_recent(pod.kind, row, -1)
        return True

    def give_back(self, pod: Pod, row: int) -> None:
        """Count a measured pod as removed: its share is subtracted from the node's measurement."""
        self.given[pod.key] = row
        self._count_recent(pod.kind, row, -1)

    def take_back(self, pod: Pod, row: int) -> bool:
        """Undo `give_back` for this pod on this node. True if it had been given back."""
        if self.given.get(pod.key) != row:
            return False
        del self.given[pod.key]
        self._count_recent(pod.kind, row, +1)
        return True

    def _count_recent(self, kind: PodKind, row: int, by: int) -> None:
        if kind in self._own_recent:
            counts = self.recent[kind]
        else:
            counts = self.recent[kind] = Counts(self.recent.get(kind, ()))
            self._own_recent.add(kind)
        counts.bump(row, by)
        if not counts:
            del self.recent[kind]
            self._own_recent.discard(kind)

    def _tally(self, pod: Pod, row: int, nodes: NodeTable, sign: int) -> None:
        self.hold(pod.spec.requests, pod.spec.nonzero, row, nodes, sign)
        self._count(pod, row, sign)

    def hold(self, requests: Requests, nonzero: tuple[int, int], row: int, nodes: NodeTable, sign: int) -> None:
        """Counts (or no longer counts) one pod's requests on a node."""
        for resource, amount in requests:
            column = nodes.column(resource)
            if column is not None:
                self._bump(self.requested, row, column, sign * amount, resource)
        self._bump(self.nonzero, row, 0, sign * nonzero[0], "nonzero cpu")
        self._bump(self.nonzero, row, 1, sign * nonzero[1], "nonzero memory")
        self.pod_count[row] += sign

    def _bump(self, sums: Ints, row: int, column: int, by: int, name: str) -> None:
        """One sum of a node. It is never more than `MOST_ON_A_NODE`, and its exact value is kept aside while it would be."""
        exact = self.beyond.pop((row, name), None) if self.beyond else None
        total = (sums.item(row, column) if exact is None else exact) + by
        if total > MOST_ON_A_NODE:
            self.beyond[row, name] = total
            total = MOST_ON_A_NODE
        sums[row, column] = total

    def _count(self, pod: Pod, row: int, sign: int) -> None:
        kind = pod.kind
        if kind in self._own:
            placed, peers = self.placed[kind], self.peers[kind]
        else:
            placed = self.placed[kind] = Counts(self.placed.get(kind, ()))
            peers = self.peers[kind] = Counts(self.peers.get(kind, ()))
            self._own.add(kind)
            self.kinds.learn(kind)
        placed.bump(row, sign)
        if pod.is_peer:
            peers.bump(row, sign)
        if not placed:
            del self.placed[kind], self.peers[kind]
            self._own.discard(kind)
            self._let_go()

    def _let_go(self) -> None:
        """The index is shared and only grows: a new one, once most of what it knows runs nowhere."""
        if len(self.kinds) > 256 + 2 * len(self.placed):
            self.kinds = KindIndex(self.placed)

    def where(self, kind: PodKind) -> tuple[Rows, Ints]:
        """Rows that host communicating pods of the kind, and how many each."""
        return self.peers.get(kind, _NOWHERE).vectors

    def everywhere(self, kind: PodKind) -> tuple[Rows, Ints]:
        """Rows that hold pods of the kind, those on their way out included, and how many each."""
        return self.placed.get(kind, _NOWHERE).vectors

    def resized(self, before: NodeTable, after: NodeTable) -> Usage:
        """The same pods over another node table (nodes added, removed or with other resources)."""
        grown = Usage(after)
        kept = [(row, after.index[name]) for row, name in enumerate(before.names) if name in after.index]
        old = np.array([row for row, _ in kept], dtype=np.intp)
        new = np.array([row for _, row in kept], dtype=np.intp)
        columns = [after.column(name) for name in before.resources]
        for here, there in enumerate(columns):
            if there is not None:
                grown.requested[new, there] = self.requested[old, here]
        grown.nonzero[new] = self.nonzero[old]
        grown.pod_count[new] = self.pod_count[old]
        moved = dict(kept)
        grown.beyond = {(moved[row], name): total for (row, name), total in self.beyond.items() if row in moved}
        if np.array_equal(old, new) and len(old) == len(before):
            self._hand_over(grown)
        else:
            self._remap(grown, moved)
        grown.kinds = self.kinds
        grown._let_go()
        # A resource that only just became a column was not summed so far.
        for name in set(after.resources) - set(before.resources):
            column = after.column(name)
            for other, pods in enumerate(grown.pods_on):
                total = sum(pod.spec.request(name) for pod in pods)
                grown.requested[other, column] = min(total, MOST_ON_A_NODE)
                if total > MOST_ON_A_NODE:
                    grown.beyond[other, name] = total
        return grown

    def _hand_over(self, grown: Usage) -> None:
        """Every row is where it was, with more behind them: the counts go over as they are."""
        grown.recent, grown.recent_keys, grown.given = self.recent, self.recent_keys, self.given
        grown._own_recent = self._own_recent
        grown.pods_on[: len(self.pods_on)] = self.pods_on
        grown.ports, grown.placed, grown.peers, grown._own = self.ports, self.placed, self.peers, self._own

    def _remap(self, grown: Usage, moved: dict[int, int]) -> None:
        grown.recent = _remapped(self.recent, moved)
        lost = {pod.key for row, pods in enumerate(self.pods_on) if row not in moved for pod in pods}
        grown.recent_keys = self.recent_keys - lost
        grown.given = {key: moved[row] for key, row in self.given.items() if row in moved}
        for row, other in moved.items():
            grown.pods_on[other] = self.pods_on[row]
        grown.ports = {moved[row]: ports for row, ports in self.ports.items() if row in moved}
        grown.placed = _remapped(self.placed, moved)
        grown.peers = _remapped(self.peers, moved)

    def pods(self) -> Iterator[Pod]:
        for pods in self.pods_on:
            yield from pods

    def freeze(self) -> None:
        """Writes to a snapshot's arrays are bugs: make them fail."""
        for array in (self.requested, self.nonzero, self.pod_count):
            array.flags.writeable = False


def _remapped(counts: dict[PodKind, Counts], moved: dict[int, int]) -> dict[PodKind, Counts]:
    """Counts over the new rows; kinds that run nowhere any more are forgotten."""
    remapped = {}
    for kind, rows in counts.items():
        kept = Counts({moved[row]: amount for row, amount in rows.items() if row in moved})
        if kept:
            remapped[kind] = kept
    return remapped
