"""TaintToleration: NoSchedule and NoExecute taints keep a pod out unless it tolerates them; PreferNoSchedule ones cost.

Taints are judged once per distinct set of taints in the cluster, and the answer is kept with the node table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ecotone.model.arrays import Ints, Mask, Rows
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Node, Pod
from ecotone.model.selectors import Taint, Toleration
from ecotone.scheduling.normalize import kubernetes, kubernetes_by, kubernetes_top
from ecotone.scheduling.plugin import Change, Cycle, Event, Rejection, Scores, pick

UNTOLERATED = "node(s) had untolerated taint(s)"
KEEPS_OUT = ("NoSchedule", "NoExecute")
COSTS = "PreferNoSchedule"

Tolerations = tuple[Toleration, ...]


class TaintToleration:
    name = "TaintToleration"
    placement_changes: Change | None = "nothing"

    def filter(self, cycle: Cycle, rows: Rows) -> Mask | None:
        mask = tolerated_rows(cycle.state.nodes, cycle.pod.spec.tolerations)
        return None if mask is None else pick(mask, rows, cycle)

    def reject(self, cycle: Cycle, rows: Rows) -> Sequence[Rejection]:
        mask = self.filter(cycle, rows)
        return [] if mask is None else [Rejection(~mask, UNTOLERATED, final=True)]

    def score(self, cycle: Cycle, rows: Rows) -> Ints:
        """How many PreferNoSchedule taints the pod does not tolerate."""
        tolerations = tuple(each for each in cycle.pod.spec.tolerations if each.effect in ("", COSTS))
        counts = cycle.state.nodes.derived((self.name, "cost", tolerations), lambda nodes: _costs(nodes, tolerations))
        picked: Ints = pick(counts, rows, cycle)
        return picked

    def normalize(self, cycle: Cycle, raw: Scores) -> Ints:
        return kubernetes(raw, reverse=True)

    def yardstick(self, cycle: Cycle, raw: Scores) -> int:
        return kubernetes_top(raw)

    def normalize_by(self, cycle: Cycle, raw: Scores, rows: Rows, yardstick: int) -> Ints:
        return kubernetes_by(raw, yardstick, reverse=True)

    def describe(self, cycle: Cycle, row: int, raw: float) -> str:
        return f"{raw:.0f} soft taint{'' if raw == 1 else 's'} not tolerated" if raw else "no soft taints"

    def hint(self, event: Event, pod: Pod) -> bool:
        if isinstance(event.new, Node):
            kept_out = not isinstance(event.old, Node) or not tolerates_all(event.old.taints, pod.spec.tolerations)
            return kept_out and tolerates_all(event.new.taints, pod.spec.tolerations)
        return isinstance(event.new, Pod) and event.new.key == pod.key


def tolerated_rows(nodes: NodeTable, tolerations: Tolerations) -> Mask | None:
    """Where no taint keeps a pod with these tolerations out; None: nowhere one does."""
    return nodes.derived(("tolerated", tolerations), lambda table: _tolerated(table, tolerations))


def tolerates_all(taints: tuple[Taint, ...], tolerations: Tolerations) -> bool:
    return all(_tolerates(taint, tolerations) for taint in taints if taint.effect in KEEPS_OUT)


def _tolerates(taint: Taint, tolerations: Tolerations) -> bool:
    return any(each.tolerates(taint) for each in tolerations)


def _tolerated(nodes: NodeTable, tolerations: Tolerations) -> Mask | None:
    codes, sets = nodes.taints
    verdicts = np.array([tolerates_all(taints, tolerations) for taints in sets], dtype=np.bool_)
    return None if verdicts.all() else verdicts[codes]


def _costs(nodes: NodeTable, tolerations: Tolerations) -> Ints:
    codes, sets = nodes.taints
    costs = [sum(taint.effect == COSTS and not _tolerates(taint, tolerations) for taint in taints) for taints in sets]
    return np.array(costs, dtype=np.int64)[codes]
