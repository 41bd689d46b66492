"""Redundancy of whole placements: tables of counts x[w, n], many at once, as the search for a placement asks about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ecotone.model.arrays import Floats, Ints, Mask
from ecotone.model.objects import PodKind
from ecotone.model.state import ClusterState
from ecotone.scheduling.redundancy.want import near_zones, want_of

_NO_ZONE = -1


@dataclass(frozen=True, slots=True, eq=False)
class Redundancy:
    """`nodes[w]`, `zones[w]`: the fewest; `zone_of[n]`; `near[w, z]`: to be in zone z alone is too little, another is near.

    `possible[w, n]`: nodes that can take a replica, or have one; `rtt[n, n]` says which are the nearest.
    """

    nodes: Ints
    zones: Ints
    zone_of: Ints
    near: Mask
    possible: Mask
    rtt: Floats
    _members: Floats = field(init=False, repr=False)
    _several: Ints = field(init=False, repr=False)
    _zoned: Ints = field(init=False, repr=False)
    _companions: dict[tuple[object, ...], Ints] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        codes = np.arange(self.near.shape[1])
        zoned = (self.zones > 1) | self.near.any(axis=1)
        object.__setattr__(self, "_members", (self.zone_of[:, np.newaxis] == codes).astype(np.float64))
        object.__setattr__(self, "_several", np.flatnonzero(self.nodes > 1))
        object.__setattr__(self, "_zoned", np.flatnonzero(zoned))
        object.__setattr__(self, "_companions", {})

    def lacking(self, counts: Floats) -> Mask:
        """[c, w]: the workload stands on too few nodes, or in too few zones."""
        found = np.zeros(counts.shape[:2], dtype=np.bool_)
        if self._several.size:
            found[:, self._several] = (counts[:, self._several] > 0).sum(axis=2) < self.nodes[self._several]
        if self._zoned.size:
            found[:, self._zoned] |= self._in_too_few_zones(counts[:, self._zoned] > 0, self._zoned)
        return found

    def lacks(self, workload: int | Ints, rows: Floats) -> Mask:
        """The same of one workload, for any number of its rows [..., n]; or of one row of each of several."""
        stands = rows > 0
        found: Mask = stands.sum(axis=-1) < self.nodes[workload]
        if (self.zones[workload] > 1).any() or self.near[workload].any():
            found = found | self._in_too_few_zones(stands, workload)
        return found

    def _in_too_few_zones(self, stands: Mask, which: Ints | int) -> Mask:
        there = stands.astype(np.float64) @ self._members > 0
        number = there.sum(axis=-1)
        few = (number < self.zones[which]) & (self.zones[which] > 1)
        found: Mask = few | ((number == 1) & (there & self.near[which]).any(axis=-1))
        return found

    def around(self, workload: int, replicas: float, places: Ints) -> Floats:
        """[p, n]: all replicas at each of these nodes, but for as many as have to stand on others, which are the nearest."""
        found = np.zeros((len(places), len(self.rtt)))
        number = np.arange(len(places))
        found[number, places] = replicas
        if replicas > 1 and self._asks(workload):
            for companions in self._companions_of(workload)[places].T:
                goes = (companions >= 0) & (found[number, places] > 1)
                found[number[goes], places[goes]] -= 1
                found[number[goes], companions[goes]] += 1
        return found

    def mended(self, workload: int, row: Floats) -> Floats:
        """Counts of one workload with as few replicas elsewhere as it takes; as near as it gets if that is impossible."""
        main = int(np.argmax(row))
        if row.sum() < 2 or not self._asks(workload):
            return row
        row = row.copy()
        for companion in self._companions_of(workload)[main].tolist():
            if companion < 0 or not self.lacks(workload, row) or row[main] < 2:
                break
            if row[companion] == 0:
                row[main] -= 1
                row[companion] += 1
        return row

    def _asks(self, workload: int) -> bool:
        return bool(self.nodes[workload] > 1 or self.zones[workload] > 1 or self.near[workload].any())

    def _companions_of(self, workload: int) -> Ints:
        """[n, k]: which other nodes it has to stand on as well if it is at node n, in the order of need; -1: none."""
        key = (
            *(int(self.nodes[workload]), int(self.zones[workload])),
            *(self.near[workload].tobytes(), self.possible[workload].tobytes()),
        )
        found = self._companions.get(key)
        if found is None:
            found = self._companions[key] = self._find_companions(workload)
        return found

    def _find_companions(self, workload: int) -> Ints:
        size = len(self.rtt)
        every = np.arange(size)
        taken = np.eye(size, dtype=np.bool_)
        chosen = []
        for _ in range(max(int(self.nodes[workload]), int(self.zones[workload]), 2) - 1):
            in_zones = taken.astype(np.float64) @ self._members > 0
            number = in_zones.sum(axis=1)
            few = (self.zones[workload] > 1) & (number < self.zones[workload])
            few |= (number == 1) & (in_zones & self.near[workload]).any(axis=1)
            fresh = ~(in_zones.astype(np.float64) @ self._members.T > 0) & (self.zone_of != _NO_ZONE)
            takes = self.possible[workload] & ~taken & (fresh | ~few[:, np.newaxis])
            wanted = few | (taken.sum(axis=1) < self.nodes[workload])
            nearest = np.argmin(np.where(takes, self.rtt, np.inf), axis=1)
            goes = wanted & takes[every, nearest]
            taken[every[goes], nearest[goes]] = True
            chosen.append(np.where(goes, nearest, -1))
        found: Ints = np.stack(chosen, axis=1)
        return found


def redundancy_of(
    state: ClusterState,
    kinds: Sequence[PodKind],
    counts: Ints,
    zones: Ints,
    rtt: Floats,
    *,
    possible: Mask,
    replicas: Ints | None = None,
    kept: bool = True,
) -> Redundancy:
    """What these workloads should have where so many of their `replicas` serve (all of them unless told otherwise).

    `counts[w, n]` as they are, `zones[n]` by the codes of the label; `kept`: nor fewer nodes and zones than they have.
    """
    codes, zone_of = np.unique(zones, return_inverse=True)
    first = int(len(codes) > 0 and codes[0] < 0)  # nodes without the label
    zone_of, codes = zone_of - first, codes[first:]
    possible = possible | (counts > 0)
    within = np.zeros((len(codes), len(codes)), dtype=np.bool_)
    for place, code in enumerate(codes.tolist()):
        within[place] = near_zones(state, code)[codes]
    least_nodes, least_zones = np.ones(len(kinds), dtype=np.int64), np.ones(len(kinds), dtype=np.int64)
    near = np.zeros((len(kinds), len(codes)), dtype=np.bool_)
    for number, kind in enumerate(kinds):
        size = int(counts[number].sum() if replicas is None else replicas[number])
        want = want_of(state, kind, size)
        held, reach = _zones_in(zone_of, counts[number] > 0), _zones_in(zone_of, possible[number])
        keep_nodes, keep_zones = (np.count_nonzero(counts[number]), len(held)) if kept and want.kept else (1, 1)
        least_nodes[number] = max(1, min(max(want.nodes, keep_nodes), np.count_nonzero(possible[number]), size))
        least_zones[number] = max(1, min(max(want.zones, keep_zones), len(reach), size))
        if want.near:
            near[number] = within[:, reach].any(axis=1)
    return Redundancy(least_nodes, least_zones, zone_of, near, possible, rtt)


def _zones_in(zone_of: Ints, where: Mask) -> Ints:
    zones = np.unique(zone_of[where])
    found: Ints = zones[zones != _NO_ZONE]
    return found
