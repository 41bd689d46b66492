"""The extender protocol of kube-scheduler, answered from the live cache.

kube-scheduler asks three questions about a pod and the nodes it still considers: which of them to drop (filter), how good
each is (prioritize, an integer 0 to 10), and, when it wants to preempt, whether the victims are worth it (preempt). With
``nodeCacheCapable`` it sends names only; our own cache knows the rest. The score is the policy's own: its terms,
normalised over the nodes asked about, best 10 and worst 0, so a cluster can adopt the network term without replacing its
scheduler.

Filtering is left to kube-scheduler's own plugins except for what the policy adds to them (a latency bound, say). What the
cache does not know yet is never held against a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.policies import KUBERNETES
from ecotone.scheduling.profile import Profile

TOP = 10
OURS_ONLY = frozenset(use.name for use in KUBERNETES)


class Node(msgspec.Struct):
    metadata: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))


class NodeList(msgspec.Struct):
    items: list[Node] = []


class Victim(msgspec.Struct):
    uid: str = msgspec.field(name="UID", default="")


class MetaVictims(msgspec.Struct):
    pods: list[Victim] = msgspec.field(name="Pods", default_factory=list)
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations", default=0)


class FullPod(msgspec.Struct):
    metadata: dict[str, Any] = {}


class Victims(msgspec.Struct):
    pods: list[FullPod] = msgspec.field(name="Pods", default_factory=list)
    num_pdb_violations: int = msgspec.field(name="NumPDBViolations", default=0)


class Arguments(msgspec.Struct):
    """Arguments of filter, prioritize and preempt; the protocol's fields have Go's names."""

    pod: msgspec.Raw = msgspec.field(name="Pod", default=msgspec.Raw(b"{}"))
    node_names: list[str] | None = msgspec.field(name="NodeNames", default=None)
    nodes: NodeList | None = msgspec.field(name="Nodes", default=None)
    meta_victims: dict[str, MetaVictims] | None = msgspec.field(name="NodeNameToMetaVictims", default=None)
    victims: dict[str, Victims] | None = msgspec.field(name="NodeNameToVictims", default=None)

    def names(self) -> list[str]:
        if self.node_names is not None:
            return self.node_names
        return [node.name for node in self.nodes.items] if self.nodes is not None else []


class BindArguments(msgspec.Struct):
    name: str = msgspec.field(name="PodName")
    namespace: str = msgspec.field(name="PodNamespace")
    uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")


class Judge:
    """A policy's own filters and terms, without those that kube-scheduler runs itself."""

    def __init__(self, profile: Profile) -> None:
        self._framework = Framework(profile)
        self._own_filters = [plugin for plugin in self._framework.filters if plugin.name not in OURS_ONLY]

    def filter(self, view: Snapshot, pod: Pod, names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Names that stay, and why the others go."""
        cycle = Cycle(ClusterState.of(view), pod)
        index = view.nodes.index
        failed: dict[str, str] = {}
        for plugin in self._framework.prefilters:
            if plugin.name not in OURS_ONLY:
                refusal = plugin.prefilter(cycle)
                if refusal is not None:
                    return [], dict.fromkeys(names, refusal.reason)
        rows = np.array([index[name] for name in names if name in index], dtype=np.intp)
        for plugin in self._own_filters:
            for rejection in plugin.reject(cycle, rows):
                for row in rows[rejection.mask]:
                    failed.setdefault(view.nodes.names[row], rejection.reason)
        return [name for name in names if name not in failed], failed

    def scores(self, view: Snapshot, pod: Pod, names: Sequence[str]) -> dict[str, int]:
        """0 to 10 over these nodes; all alike gives 0 to each, which tells kube-scheduler nothing, as it should."""
        evaluation = Evaluation(self._framework, Cycle(ClusterState.of(view), pod))
        allowed = np.zeros(len(view.nodes), dtype=np.bool_)
        rows = [view.nodes.index[name] for name in names if name in view.nodes.index]
        allowed[rows] = True
        # kube-scheduler has already decided who is feasible; its verdict is taken as it is.
        evaluation.ok = allowed
        evaluation.refusal = None
        evaluation.restrict(allowed)
        scores = dict.fromkeys(names, 0)
        total = evaluation.total()
        if not len(total):
            return scores
        low, high = float(total.min()), float(total.max())
        if high - low <= 1e-9 * max(abs(high), 1.0):
            return scores
        for row, value in zip(evaluation.feasible, total, strict=True):
            scores[view.nodes.names[row]] = round(TOP * (float(value) - low) / (high - low))
        return scores
