"""NodeAffinity: nodeSelector and required node affinity must match; preferred terms that match add their weights.

`addedAffinity` is the operator's: a node affinity in the form of a pod spec that every pod of the profile must meet as
well, and whose preferences count on top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.errors import InputError
from ecotone.model.objects import Node, Pod
from ecotone.model.selectors import NodeAffinity as Affinity
from ecotone.model.selectors import NodeTerm, Requirement
from ecotone.scheduling.normalize import kubernetes, kubernetes_by, kubernetes_top
from ecotone.scheduling.plugin import Change, Cycle, Event, Refusal, Rejection, Scores, pick

NO_MATCH = "node(s) didn't match Pod's node affinity/selector"
ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT = "pod affinity terms conflict"


class NodeAffinity:
    name = "NodeAffinity"
    placement_changes: Change | None = "nothing"

    def __init__(self, *, addedAffinity: Mapping[str, Any] | None = None) -> None:
        self.added = read_affinity(addedAffinity or {})

    def prefilter(self, cycle: Cycle) -> Refusal | None:
        """Terms that each name nodes, but none in common with themselves, match nothing whatever the nodes are."""
        required = cycle.pod.spec.node_affinity.required
        if not required or not all(term.fields for term in required):
            return None
        return Refusal(CONFLICT) if all(_names_nobody(term) for term in required) else None

    def narrow(self, cycle: Cycle) -> Mask | None:
        """Terms that each name nodes: the others are not even looked at."""
        required = cycle.pod.spec.node_affinity.required
        terms = [_named(term) for term in required or ()]
        if not terms or any(names is None for names in terms):
            return None
        named = {name for names in terms if names is not None for name in names}
        return np.array([name in named for name in cycle.state.nodes.names], dtype=np.bool_)

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        nodes, pod = cycle.state.nodes, cycle.pod
        mask = required_rows(nodes, pod)
        if self.added.required is not None:
            enforced = nodes.matches_affinity(self.added)
            mask = enforced if mask is None else mask & enforced
        return None if mask is None else pick(mask, rows, cycle)

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        nodes, found = cycle.state.nodes, []
        enforced = pick(nodes.matches_affinity(self.added), rows, cycle)
        if not enforced.all():
            found.append(Rejection(~enforced, ENFORCED, final=True))
        mask = required_rows(nodes, cycle.pod)
        if mask is not None:
            found.append(Rejection(~pick(mask, rows, cycle) & enforced, NO_MATCH, final=True))
        return found

    def score(self, cycle: Cycle, rows: Rows) -> Ints | None:
        terms = (*self.added.preferred, *cycle.pod.spec.node_affinity.preferred)
        if not terms:
            return None
        weights = cycle.state.nodes.derived((self.name, terms), lambda nodes: _weights(nodes, terms))
        picked: Ints = pick(weights, rows, cycle)
        return picked

    def normalize(self, cycle: Cycle, raw: Scores) -> Ints:
        return kubernetes(raw)

    def yardstick(self, cycle: Cycle, raw: Scores) -> int:
        return kubernetes_top(raw)

    def normalize_by(self, cycle: Cycle, raw: Scores, rows: Rows, yardstick: int) -> Ints:
        return kubernetes_by(raw, yardstick)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        return f"preferences of weight {raw:.0f} met"

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            return self._accepts(event.new, pod) and not (isinstance(event.old, Node) and self._accepts(event.old, pod))
        return isinstance(event.new, Pod) and event.new.key == pod.key

    def _accepts(self, node: Node, pod: Pod) -> bool:
        alone = NodeTable([node])
        own = required_rows(alone, pod)
        return bool(alone.matches_affinity(self.added)[0]) and (own is None or bool(own[0]))


def required_rows(nodes: NodeTable, pod: Pod) -> Mask | None:
    """Where the pod's nodeSelector and required terms match; None: it demands nothing."""
    spec = pod.spec
    if not spec.node_selector and spec.node_affinity.required is None:
        return None
    key = ("required", spec.node_selector, spec.node_affinity.required)
    return nodes.derived(
        key, lambda table: table.matches_selector(spec.node_selector) & table.matches_affinity(spec.node_affinity)
    )


def _names_nobody(term: NodeTerm) -> bool:
    named = [set(each.values) for each in term.fields if each.key == "metadata.name" and each.operator == "In"]
    return bool(named) and not set.intersection(*named)


def _weights(nodes: NodeTable, terms: tuple[NodeTerm, ...]) -> Ints:
    total = np.zeros(len(nodes), dtype=np.int64)
    for term in terms:
        total += nodes.matches_term(term) * term.weight
    return total


def read_affinity(tree: Mapping[str, Any]) -> Affinity:
    """A node affinity from the shape it has in a pod spec (and in the plugin's arguments)."""
    try:
        demanded = tree.get("requiredDuringSchedulingIgnoredDuringExecution")
        required = None if demanded is None else tuple(_read_term(each) for each in demanded["nodeSelectorTerms"])
        preferred = tuple(
            _read_term(each["preference"], weight=int(each["weight"]))
            for each in tree.get("preferredDuringSchedulingIgnoredDuringExecution", ())
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"addedAffinity is not a node affinity: {error}", hint="it has the shape of a pod's nodeAffinity"
        ) from error
    return Affinity(required, preferred)


def _read_term(tree: Mapping[str, Any], *, weight: int = 0) -> NodeTerm:
    return NodeTerm(
        expressions=tuple(_read_requirement(each) for each in tree.get("matchExpressions", ())),
        fields=tuple(_read_requirement(each) for each in tree.get("matchFields", ())),
        weight=weight,
    )


def _read_requirement(tree: Mapping[str, Any]) -> Requirement:
    return Requirement(tree["key"], tree["operator"], tuple(str(value) for value in tree.get("values", ())))


def _named(term: NodeTerm) -> frozenset[str] | None:
    """The nodes a term asks for by name, or None if it asks for none in particular."""
    sets = [frozenset(each.values) for each in term.fields if each.key == "metadata.name" and each.operator == "In"]
    return frozenset.intersection(*sets) if sets else None
