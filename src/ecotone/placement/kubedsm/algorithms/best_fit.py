"""Algorithm 4, bestFit: the migrations that let given pods onto the edge."""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.model.arrays import Ints
from ecotone.placement.kubedsm.algorithms.free_edge import free_edge_as_needed
from ecotone.placement.kubedsm.algorithms.reorder import reorder_edge
from ecotone.placement.kubedsm.cluster import Cluster, Move
from ecotone.placement.kubedsm.parameters import Parameters


@dataclass(frozen=True, slots=True)
class Migrations:
    """Offloads come first: they make the room that reorderings and newcomers use."""

    offloads: tuple[Move, ...] = ()
    reorderings: tuple[Move, ...] = ()

    @property
    def all(self) -> tuple[Move, ...]:
        return (*self.offloads, *self.reorderings)


class BestFit:
    """Remembers reorderings: many subsets lead to the same state of the edge."""

    def __init__(self, cluster: Cluster, parameters: Parameters) -> None:
        self._cluster = cluster
        self._parameters = parameters
        self._reorderings: dict[tuple[Move, ...], tuple[Move, ...]] = {}

    def migrations(self, to_edge: Ints) -> Migrations:
        offloads = free_edge_as_needed(self._cluster, to_edge @ self._cluster.size, self._parameters)
        if offloads not in self._reorderings:
            self._reorderings[offloads] = reorder_edge(self._cluster.after(offloads), self._parameters)
        return Migrations(offloads, self._reorderings[offloads])
