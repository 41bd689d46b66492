"""Promises about distances that hold: a plan keeps them at the end of each of its stages."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ecotone.model.objects import PodKind
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.costs.deadlines import Bound, name_of
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import KEEPS_NEAR

Promise = tuple[Name, Name]
"""A workload, and one that it must be near to."""


class Promises:
    """Hard bounds of the workloads of these namespaces, as the profile's filters enforce them."""

    def __init__(self, framework: Framework, state: ClusterState, namespaces: Collection[str]) -> None:
        self._state = state
        self._near = [plugin for plugin in framework.filters if KEEPS_NEAR.has(plugin)]
        kinds = state.kind_counts if self._near else ()
        self._kinds = [kind for kind in kinds if kind.namespace in namespaces and self._bounds(kind)]

    def _bounds(self, kind: PodKind) -> list[Bound]:
        return [bound for plugin in self._near for bound in plugin.keeps_near(self._state, kind)]

    def held(self) -> set[Promise]:
        return {
            (name_of(kind), bound.peer)
            for kind in self._kinds
            for bound in self._bounds(kind)
            if self._holds(kind, bound)
        }

    def _holds(self, kind: PodKind, bound: Bound) -> bool:
        """True if every pod of the kind is near enough to every pod of the other workload."""
        own = [row for row, number in self._state.usage.peers.get(kind, {}).items() if number]
        network = self._state.network
        return all(bool(np.all(network.toward(target)[own] <= bound.most)) for target in bound.rows.tolist())
