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

from ecotone.model.errors import InputError
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.profiles.policies import POLICIES
from ecotone.scheduling.profiles.profile import Profile, Use

TOP = 10
MOST_NODES = 20_000
"""In one question: four times what Kubernetes itself supports."""


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

    def check(self) -> None:
        """Raises if there are more nodes in it than any cluster has."""
        nodes = self.nodes.items if self.nodes is not None else ()
        for given in (self.node_names or (), nodes, self.meta_victims or (), self.victims or ()):
            if len(given) > MOST_NODES:
                raise InputError(f"{len(given)} nodes in one question; at most {MOST_NODES} are considered")

    def names(self) -> list[str]:
        if self.node_names is not None:
            return list(dict.fromkeys(self.node_names))
        return [node.name for node in self.nodes.items] if self.nodes is not None else []


class BindArguments(msgspec.Struct):
    name: str = msgspec.field(name="PodName")
    namespace: str = msgspec.field(name="PodNamespace")
    uid: str = msgspec.field(name="PodUID")
    node: str = msgspec.field(name="Node")


class Judge:
    """A policy's own filters and terms, without those that kube-scheduler runs itself."""

    def __init__(self, profile: Profile) -> None:
        whole = framework_of(profile)
        upstream = frozenset(type(plugin) for plugin in framework_of(POLICIES["kube-default"]).plugins.values())
        # kube-scheduler adds its own scores itself; a policy that has no others is asked for them all the same.
        own = tuple(Use(each.name, each.weight) for each in whole.scorers if type(each.plugin) not in upstream)
        self._framework = whole.judge(score=own, queue_sort=None)
        self._own_prefilters = [plugin for plugin in whole.prefilters if type(plugin) not in upstream]
        self._own_filters = [plugin for plugin in whole.filters if type(plugin) not in upstream]

    def filter(self, view: Snapshot, pod: Pod, names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        """Names that stay, and why the others go."""
        cycle = Cycle(ClusterState.of(view), pod)
        index = view.nodes.index
        failed: dict[str, str] = {}
        for first in self._own_prefilters:
            refusal = first.prefilter(cycle)
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
