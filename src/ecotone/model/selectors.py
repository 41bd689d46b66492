"""Selectors: which labels, which nodes, which taints.

Plain values with one question each. Over a whole cluster they are not asked node by node: `NodeTable` evaluates a
requirement once per distinct label value and spreads the answer over its columns.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Labels = Mapping[str, str]


class Requirement(msgspec.Struct, frozen=True):
    """`key operator values`, as in matchExpressions; Gt and Lt only on nodes."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def accepts(self, value: str | None) -> bool:
        """True if a label with this value (None: absent) meets the requirement."""
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return self._compares(value)
        return False

    def _compares(self, value: str | None) -> bool:
        try:
            left, right = int(value or ""), int(self.values[0])
        except (ValueError, IndexError):
            return False
        return left > right if self.operator == "Gt" else left < right


class LabelSelector(msgspec.Struct, frozen=True):
    """All requirements must hold; an empty selector matches everything, `NOTHING` matches nothing."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Labels) -> bool:
        return not self.nothing and all(each.accepts(labels.get(each.key)) for each in self.requirements)

    @staticmethod
    def of_labels(labels: Labels) -> LabelSelector:
        return LabelSelector(tuple(Requirement(key, "In", (value,)) for key, value in sorted(labels.items())))


NOTHING = LabelSelector(nothing=True)
EVERYTHING = LabelSelector()


class NodeTerm(msgspec.Struct, frozen=True):
    """One alternative of a node affinity: expressions on labels and fields on metadata, all of which must hold.

    An empty term matches no node, as in Kubernetes.
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    weight: int = 0


class NodeAffinity(msgspec.Struct, frozen=True):
    """`required`: None means no demand; a tuple means one of these terms must match."""

    required: tuple[NodeTerm, ...] | None = None
    preferred: tuple[NodeTerm, ...] = ()


class Taint(msgspec.Struct, frozen=True):
    key: str
    value: str = ""
    effect: str = "NoSchedule"


class Toleration(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return bool(self.key) and self.value == taint.value
            case "Exists":
                return True
            case "Gt" | "Lt":
                return Requirement(self.key, self.operator, (self.value,)).accepts(taint.value)
        return False


class PodTerm(msgspec.Struct, frozen=True):
    """One pod (anti-)affinity term: pods it is about, and the topology in which "together" is meant."""

    selector: LabelSelector
    topology_key: str
    namespaces: frozenset[str] = frozenset()
    namespace_selector: LabelSelector = NOTHING
    weight: int = 0

    def about(self, *, namespace: str, namespace_labels: Labels, labels: Labels) -> bool:
        """True if the term selects a pod with these labels in this namespace."""
        if namespace not in self.namespaces and not self.namespace_selector.matches(namespace_labels):
            return False
        return self.selector.matches(labels)


class PodAffinity(msgspec.Struct, frozen=True):
    required: tuple[PodTerm, ...] = ()
    preferred: tuple[PodTerm, ...] = ()


class SpreadConstraint(msgspec.Struct, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    selector: LabelSelector
    min_domains: int = 1
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()
