"""Where preemption may help at all, and the words for where it does not.

Most nodes can be ruled out without a trial: nobody of lower priority runs there, or all of them together would not free
enough. What is said about the others goes into the pod's event, in kube-scheduler's words.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.plugins.kubernetes.node_ports import NodePorts
from ecotone.scheduling.plugins.kubernetes.node_resources_fit import INSUFFICIENT, TOO_MANY_PODS, NodeResourcesFit

NOT_HELPFUL = "Preemption is not helpful for scheduling"
NO_VICTIMS = "No preemption victims found for incoming pod"
WOULD_VIOLATE = "a disruption budget would be violated"


class Tally:
    """How many nodes each reason rules out; preemption cannot help on nodes without a reason."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._nodes = 0
        self._counts: dict[str, int] = {}

    def add(self, reasons: Iterable[str], nodes: int = 1) -> None:
        """So many nodes fail for these reasons."""
        self._nodes += nodes
        self.also(reasons, nodes)

    def also(self, reasons: Iterable[str], nodes: int) -> None:
        """Further reasons of nodes already counted."""
        for reason in reasons:
            if nodes:
                self._counts[reason] = self._counts.get(reason, 0) + nodes

    def sentence(self) -> str:
        counts = dict(self._counts)
        if self._size > self._nodes:
            counts[NOT_HELPFUL] = self._size - self._nodes
        reasons = ", ".join(sorted(f"{count} {reason}" for reason, count in counts.items()))
        return f"preemption: 0/{self._size} nodes are available: {reasons}."


def promising(cycle: Cycle, evaluation: Evaluation, hopeless: Mask, tally: Tally) -> Rows:
    """Rows with pods of lower priority whose going could free enough; a bound, a trial decides."""
    state, own = cycle.state, cycle.pod.spec.priority
    victims = np.zeros(len(state.nodes), dtype=np.int64)
    freed = np.zeros_like(state.usage.requested)
    for kind in [kind for kind in state.usage.placed if kind.spec.priority < own]:
        rows, amounts = state.usage.everywhere(kind)
        victims[rows] += amounts
        for resource, amount in kind.spec.requests:
            column = state.nodes.column(resource)
            if column is not None:
                freed[rows, column] += amounts * amount
    open_rows = ~evaluation.ok & ~hopeless
    tally.add([NO_VICTIMS], int(np.count_nonzero(open_rows & (victims == 0))))
    mask = open_rows & (victims > 0)
    short = _too_small(cycle, evaluation, freed, victims)
    # A port that stays taken is told first; only a trial knows.
    decided = np.logical_or.reduce([where for _, where in short], initial=False) & mask & ~_clash(evaluation)
    tally.add([], int(np.count_nonzero(decided)))
    for reason, where in short:
        tally.also([reason], int(np.count_nonzero(where & decided)))
    return np.flatnonzero(mask & ~decided)


def _too_small(cycle: Cycle, evaluation: Evaluation, freed: np.ndarray, victims: np.ndarray) -> list[tuple[str, Mask]]:
    """Where something would still be short with all of them gone."""
    nodes, usage = cycle.state.nodes, cycle.state.usage
    found: list[tuple[str, Mask]] = []
    for plugin in evaluation.framework.filters:
        if not isinstance(plugin, NodeResourcesFit):
            continue
        found.append((TOO_MANY_PODS, usage.pod_count - victims >= nodes.max_pods))
        for resource, amount in plugin.wanted(cycle.pod):
            column = nodes.column(resource)
            if column is not None:
                left = nodes.allocatable[:, column] - usage.requested[:, column] + freed[:, column]
                found.append((INSUFFICIENT.format(resource), left < amount))
    return found


def _clash(evaluation: Evaluation) -> Mask:
    masks = zip(evaluation.framework.filters, evaluation.masks, strict=True)
    clashes = [~mask for plugin, mask in masks if isinstance(plugin, NodePorts) and mask is not None]
    clash: Mask = np.logical_or.reduce(clashes, initial=False)
    return clash
