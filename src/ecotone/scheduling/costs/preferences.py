"""What the owner of a pod would like, priced in milliseconds.

Kubernetes' preferences are scores without a unit. Where predicted response times differ by less than anybody notices those
scores decide; where they differ by more, each wish that a node does not meet costs its share of `preference_ms`, so that a
preference gives way to a large saving and never to a small one:

* preferred node affinity: the weight of the terms that do not match, of the weight of all terms;
* PreferNoSchedule taints that the pod does not tolerate: all of it;
* images that are not there, of the size of all that any node holds: a tenth of it, as they are pulled once;
* soft topology spread: how many more pods the domain has than the emptiest, of the pods there are.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ecotone.model.arrays import Floats, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import PodKind
from ecotone.model.selectors import SpreadConstraint
from ecotone.model.state import ClusterState

PREFERENCE_MS = 5.0
_IMAGES = 0.1
_SOFT = "ScheduleAnyway"


def preference_ms(state: ClusterState, kind: PodKind, rows: Rows, *, price: float = PREFERENCE_MS) -> Floats:
    """Milliseconds that unmet wishes cost on each of these rows."""
    unmet = standing_wishes(state.nodes, kind)
    for constraint in soft_spread(kind):
        unmet = unmet + _crowding(state, kind, constraint)
    found: Floats = price * (unmet if rows is state.nodes.all_rows else unmet[rows])
    return found


def has_wishes(nodes: NodeTable, kind: PodKind) -> bool:
    """True if some node may leave a wish unmet."""
    return bool(soft_spread(kind)) or bool(standing_wishes(nodes, kind).any())


def soft_spread(kind: PodKind) -> tuple[SpreadConstraint, ...]:
    """The wishes that every placed replica changes."""
    return tuple(each for each in kind.spec.spread if each.when_unsatisfiable == _SOFT)


def standing_wishes(nodes: NodeTable, kind: PodKind) -> Floats:
    """The share of the pod's preferences that each node leaves unmet, independent of the pods on it."""
    spec = kind.spec
    key = ("wishes", spec.node_affinity.preferred, spec.tolerations, spec.images)
    return nodes.derived(key, lambda table: np.sum([np.zeros(len(table)), *_standing(table, kind)], axis=0))


def _standing(nodes: NodeTable, kind: PodKind) -> Iterator[Floats]:
    spec = kind.spec
    wanted = [term for term in spec.node_affinity.preferred if term.weight > 0]
    if wanted:
        met = np.sum([nodes.matches_term(term) * term.weight for term in wanted], axis=0)
        yield 1.0 - met / sum(term.weight for term in wanted)
    codes, sets = nodes.taints
    avoided = [
        any(
            taint.effect == "PreferNoSchedule" and not any(each.tolerates(taint) for each in spec.tolerations)
            for taint in taints
        )
        for taints in sets
    ]
    if any(avoided):
        yield np.array(avoided, dtype=np.float64)[codes]
    held = [nodes.images[name] for name in spec.images if name in nodes.images]
    if held:
        there = np.zeros(len(nodes))
        for rows, sizes in held:
            there[rows] += sizes
        yield _IMAGES * (1.0 - there / max(float(there.max()), 1.0))


def _crowding(state: ClusterState, kind: PodKind, constraint: SpreadConstraint) -> Floats:
    codes, domains = state.nodes.domains(constraint.topology_key)
    counts = np.zeros(domains + 1)
    for other in state.usage.kinds.matching(constraint.selector, frozenset((kind.namespace,))):
        rows, amounts = state.usage.where(other)
        np.add.at(counts, codes[rows], amounts)
    counts[-1] = counts[:-1].max(initial=0.0)  # nodes without the label are in no domain
    spread: Floats = (counts - counts[:-1].min(initial=np.inf if domains else 0.0)) / max(counts[:-1].sum(), 1.0)
    return spread[codes]
