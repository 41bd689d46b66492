"""Which nodes a pod may use at all: rules that belong to the pod alone, asked of the scheduler's own filters.

Taints, selectors, affinity to nodes, ports, nodes that are not ready. So a solver cannot put a pod where the scheduler would
refuse it. Rules between pods (spread, pod affinity) are not among them.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.arrays import Mask
from ecotone.model.objects import Pod, PodKind
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.profiles.profile import Profile, Use

PER_POD_RULES = Profile(
    name="rules of single pods",
    enabled=tuple(
        Use(name)
        for name in (
            "PrioritySort",
            "NodeUnschedulable",
            "NodeName",
            "TaintToleration",
            "NodeAffinity",
            "NodePorts",
            "NodeDeclaredFeatures",
        )
    ),
)


class Allowed:
    """Asked once per kind of pod."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._state = ClusterState.of(snapshot)
        self._framework = framework_of(PER_POD_RULES)
        self._known: dict[PodKind, Mask] = {}

    def hosts(self, pod: Pod) -> frozenset[str] | None:
        """Their names; None: all of them."""
        mask = self.mask(pod)
        names = self._state.nodes.names
        return None if mask.all() else frozenset(names[row] for row in np.flatnonzero(mask))

    def mask(self, pod: Pod) -> Mask:
        if pod.kind not in self._known:
            self._known[pod.kind] = self._ask(pod)
        return self._known[pod.kind]

    def _ask(self, pod: Pod) -> Mask:
        nodes = self._state.nodes
        cycle = Cycle(self._state, pod)
        if any(plugin.prefilter(cycle) is not None for plugin in self._framework.prefilters):
            return np.zeros(len(nodes), dtype=np.bool_)
        mask: Mask = np.array([node.ready for node in nodes.nodes], dtype=np.bool_)
        for plugin in self._framework.filters:
            passed = plugin.filter(cycle, nodes.all_rows)
            if passed is not None:
                mask = mask & passed
        return mask
