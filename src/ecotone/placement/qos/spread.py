"""Redundancy beside promises: no plan for promises leaves a workload on fewer nodes, or in fewer zones, than it may have.

Where a promise cannot be kept otherwise its own workload gives its redundancy up, and every move of it says so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ecotone.model.arrays import Ints, Mask
from ecotone.model.objects import PodKind
from ecotone.model.state import ClusterState
from ecotone.placement.kubedsm.cluster import Cluster, Move
from ecotone.scheduling.redundancy.want import ZONE, want_of


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """The fewest `nodes` and `zones` of each service, never more than it has; `zone_of` each node, -1 for none."""

    nodes: Ints
    zones: Ints
    zone_of: Ints

    def has(self, x: Ints) -> tuple[Ints, Ints]:
        """On how many nodes, and in how many zones, each service stands."""
        zones = range(int(self.zone_of.max(initial=-1)) + 1)
        there = [(x[:, self.zone_of == zone] > 0).any(axis=1) for zone in zones]
        in_zones: Ints = np.sum(there, axis=0) if there else np.zeros(len(x), np.int64)
        on_nodes: Ints = (x > 0).sum(axis=1)
        return on_nodes, in_zones

    def lacks(self, x: Ints) -> Mask:
        """The services that stand closer together than they may."""
        nodes, zones = self.has(x)
        found: Mask = (nodes < self.nodes) | (zones < self.zones)
        return found

    def without(self, services: Mask) -> Spread:
        """The same where these give it up."""
        return replace(self, nodes=np.where(services, 0, self.nodes), zones=np.where(services, 0, self.zones))

    def part(self, x: Ints, *, nodes: Ints, services: Ints, elsewhere: Mask) -> Spread:
        """What is left to ask of some nodes, with everything elsewhere as in `x`."""
        rest = np.where(elsewhere, x[services], 0)
        on_nodes, in_zones = replace(self, nodes=self.nodes[services], zones=self.zones[services]).has(rest)
        return Spread(
            np.maximum(0, self.nodes[services] - on_nodes),
            np.maximum(0, self.zones[services] - in_zones),
            self.zone_of[nodes],
        )


def spread_of(state: ClusterState, kinds: Sequence[PodKind], placed: Ints, allowed: Mask) -> tuple[Spread, Spread]:
    """What their owners want of services where that is possible; and the same of those alone that have it already."""
    codes = state.nodes.labels(ZONE)[0].astype(np.int64)
    nothing = np.zeros(len(kinds), np.int64)
    counting = Spread(nothing, nothing, codes)
    has, possible = counting.has(placed), counting.has((allowed | (placed > 0)).astype(np.int64))
    wanted = np.zeros((2, len(kinds)), np.int64)
    for number, kind in enumerate(kinds):
        want = want_of(state, kind, int(placed[number].sum()))
        for row, least in enumerate((want.nodes, want.zones)):
            most = min(int(possible[row][number]), int(placed[number].sum()))
            wanted[row, number] = max(min(least, most), int(has[row][number]) if want.kept else 0)
    wanted[wanted == 1] = 0  # whoever stands anywhere has that
    kept = np.minimum(wanted, has)
    kept[kept == 1] = 0
    return Spread(wanted[0], wanted[1], codes), Spread(kept[0], kept[1], codes)


def stays_spread(spread: Spread | None, exempt: Collection[int], cluster: Cluster, move: Move) -> bool:
    """False if the move would bring a service closer together than it may be, and than it is."""
    if spread is None or move.service in exempt:
        return True
    one = slice(move.service, move.service + 1)
    own = Spread(spread.nodes[one], spread.zones[one], spread.zone_of)
    before, after = cluster.placed[one], cluster.after([move]).placed[one]
    if not own.lacks(after)[0]:
        return True
    return all(later >= first for first, later in zip(own.has(before), own.has(after), strict=True))
