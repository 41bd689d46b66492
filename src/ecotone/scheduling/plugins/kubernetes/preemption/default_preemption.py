"""DefaultPreemption: when nothing fits, find the node where taking away pods of lower priority hurts least.

On a candidate node all pods of lower priority are taken away; if the pod then fits, they are given back one by one, those
whose disruption budget would be violated first, the more important before the less important, as long as it still fits. Who
cannot come back is a victim. Among the nodes: fewest violated budgets, lowest highest priority of a victim, lowest sum of
priorities, fewest victims, latest start of the most important victims, first by name.

All on the working copy of the cluster, which is left as it was found. Differences to kube-scheduler: a budget with an empty
selector covers every pod of its namespace, as the policy/v1 API says; a pod on its way out, which spreading does not count,
does not lower that count by being taken away; pods that were placed in this same round are not taken away again;
`violateDisruptionBudgets: false` (ours) leaves out nodes where a budget would be violated.

The search ends with so many candidates: the larger of `minCandidateNodesPercentage` of the nodes in question and
`minCandidateNodesAbsolute`, as in Kubernetes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from ecotone.model.arrays import Mask, Rows
from ecotone.model.decisions import Preempt
from ecotone.model.draw import hash_text
from ecotone.model.errors import InputError
from ecotone.model.objects import DisruptionBudget, Pod
from ecotone.scheduling.evaluation import Evaluation, reasons_on, run_filters_on
from ecotone.scheduling.plugin import Change, Cycle, Event
from ecotone.scheduling.plugins.kubernetes.preemption.preemption_prospects import (
    NO_VICTIMS,
    WOULD_VIOLATE,
    Tally,
    promising,
)

NEVER = "Never"
_ABOVE_ALL_NEGATIVE = 2**31
"""Added to each priority in sums, so that fewer victims of negative priority are better than more of them."""


class _Candidate(msgspec.Struct, frozen=True):
    row: int
    victims: tuple[Pod, ...]
    violations: int

    def cost(self, rank: int) -> tuple[float, ...]:
        top = self.victims[0].spec.priority
        return (
            self.violations,
            top,
            sum(pod.spec.priority + _ABOVE_ALL_NEGATIVE for pod in self.victims),
            len(self.victims),
            -min(_start(pod) for pod in self.victims if pod.spec.priority == top),
            rank,
        )


class DefaultPreemption:
    name = "DefaultPreemption"
    placement_changes: Change | None = "nothing"

    def __init__(
        self,
        *,
        minCandidateNodesPercentage: int = 10,
        minCandidateNodesAbsolute: int = 100,
        violateDisruptionBudgets: bool = True,
    ) -> None:
        if not 0 <= minCandidateNodesPercentage <= 100 or minCandidateNodesAbsolute < 0:
            raise InputError("minCandidateNodesPercentage is 0..100, minCandidateNodesAbsolute at least 0")
        if minCandidateNodesPercentage == 0 and minCandidateNodesAbsolute == 0:
            raise InputError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero")
        self.percentage = minCandidateNodesPercentage
        self.absolute = minCandidateNodesAbsolute
        self.violate = violateDisruptionBudgets

    def postfilter(self, cycle: Cycle, evaluation: Evaluation) -> Preempt | str:
        if cycle.pod.spec.preemption_policy == NEVER:
            return "preemption: not eligible due to preemptionPolicy=Never."
        if self.name in cycle.scratch:
            return str(cycle.scratch[self.name])
        tally = Tally(len(evaluation.rows))
        if evaluation.refusal is not None:
            return tally.sentence()
        hopeless = _hopeless(evaluation)
        if _victims_are_leaving(cycle, hopeless):
            return "preemption: not eligible due to a terminating pod on the nominated node."
        rows = promising(cycle, evaluation, hopeless, tally)
        best = self._best(cycle, evaluation, rows, tally)
        if best is None:
            # Nothing helps on any node; while the cluster stays as it is, replicas need not look again.
            cycle.scratch[self.name] = tally.sentence()
            return tally.sentence()
        return _decision(cycle, best)

    def _best(self, cycle: Cycle, evaluation: Evaluation, rows: Rows, tally: Tally) -> _Candidate | None:
        if not len(rows):
            return None
        enough = min(len(rows), max(self.absolute, len(rows) * self.percentage // 100))
        offset = hash_text(f"preemption {cycle.state.seed} {cycle.pod.uid}") % len(rows)
        found: list[_Candidate] = []
        clean = 0
        trial = _Trial(cycle, evaluation)
        for row in np.roll(rows, -offset):
            candidate = trial.on(int(row))
            if not isinstance(candidate, _Candidate):
                tally.add(candidate)
                continue
            if candidate.violations and not self.violate:
                tally.add([WOULD_VIOLATE])
                continue
            found.append(candidate)
            clean += candidate.violations == 0
            if clean and len(found) >= enough:
                break
        rank = cycle.state.nodes.rank
        return min(found, key=lambda each: each.cost(int(rank[each.row])), default=None)

    def hint(self, event: Event, pod: Pod) -> bool:
        """The plugins that turned the pod away say what helps."""
        return False


class _Trial:
    """Takes pods away from a node and gives them back, with all plugins following, and asks the filters in between."""

    def __init__(self, cycle: Cycle, evaluation: Evaluation) -> None:
        self.cycle = cycle
        self.framework = evaluation.framework
        self.followers = self.framework.incremental
        self.promised = _promised(cycle)

    def on(self, row: int) -> _Candidate | list[str]:
        """Whom the pod would displace there, or why it would not fit even without them."""
        usage, budgets = self.cycle.state.usage, self.cycle.state.budgets
        before, ports = usage.pods_on[row], usage.ports.get(row)
        potential = sorted((pod for pod in before if _may_go(pod, self.cycle)), key=_importance)
        away: dict[str, Pod] = {}
        try:
            for pod in potential:
                self._take(pod, row, away)
            if not potential:
                return [NO_VICTIMS]
            if not self._fits(row):
                return reasons_on(self.framework, self.cycle, self._row(row))
            violating, others = _by_budget(potential, budgets)
            violations = sum(not self._reprieve(pod, row, away) for pod in violating)
            for pod in others:
                self._reprieve(pod, row, away)
            victims = tuple(pod for pod in potential if pod.key in away)
            return _Candidate(row, victims, violations) if victims else [NO_VICTIMS]
        finally:
            for pod in list(away.values()):
                self._give_back(pod, row, away)
            usage.pods_on[row] = before
            if ports is not None:
                usage.ports[row] = ports

    def _take(self, pod: Pod, row: int, away: dict[str, Pod]) -> None:
        self._remove(pod, row)
        away[pod.key] = pod

    def _give_back(self, pod: Pod, row: int, away: dict[str, Pod]) -> None:
        self._add(pod, row)
        del away[pod.key]

    def _remove(self, pod: Pod, row: int) -> None:
        self.cycle.state.usage.remove(pod, row, self.cycle.state.nodes)
        for plugin in self.followers:
            plugin.remove_pod(self.cycle, pod, row)

    def _add(self, pod: Pod, row: int) -> None:
        self.cycle.state.usage.add(pod, row, self.cycle.state.nodes)
        for plugin in self.followers:
            plugin.add_pod(self.cycle, pod, row)

    def _fits(self, row: int) -> bool:
        """Both with the pods that the node is promised to, and without: they may never come."""
        promised = self.promised.get(row, ())
        if promised:
            for pod in promised:
                self._add(pod, row)
            fits = self._passes(row)
            for pod in promised:
                self._remove(pod, row)
            if not fits:
                return False
        return self._passes(row)

    def _passes(self, row: int) -> bool:
        return bool(run_filters_on(self.framework, self.cycle, self._row(row))[0])

    def _row(self, row: int) -> Rows:
        return self.cycle.state.nodes.all_rows[row : row + 1]

    def _reprieve(self, pod: Pod, row: int, away: dict[str, Pod]) -> bool:
        self._give_back(pod, row, away)
        if self._fits(row):
            return True
        self._take(pod, row, away)
        return False


def _promised(cycle: Cycle) -> dict[int, list[Pod]]:
    """Waiting pods, no less important, that were promised a node before."""
    state, own = cycle.state, cycle.pod
    promised: dict[int, list[Pod]] = {}
    for pod in state.pending.values():
        row = state.nodes.index.get(pod.nominated or "")
        if row is not None and pod.key != own.key and pod.spec.priority >= own.spec.priority:
            promised.setdefault(row, []).append(pod.on(state.nodes.names[row]))
    return promised


def _decision(cycle: Cycle, best: _Candidate) -> Preempt:
    node = cycle.state.nodes.names[best.row]
    who = f"{len(best.victims)} pod{'s' if len(best.victims) > 1 else ''} of priority up to "
    who += f"{best.victims[0].spec.priority} (its own is {cycle.pod.spec.priority})"
    harm = f", violating {best.violations} times a disruption budget" if best.violations else ""
    return Preempt(
        cycle.pod.key,
        node,
        tuple(pod.key for pod in best.victims),
        f"preemption: on {node} it fits without {who}{harm}",
        uid=cycle.pod.uid,
    )


def _hopeless(evaluation: Evaluation) -> Mask:
    """Rows where taking pods away would not help."""
    mask = np.zeros(len(evaluation.rows), dtype=np.bool_)
    for _, rejection in evaluation.rejections():
        if rejection.final:
            mask |= rejection.mask
    return mask


def _victims_are_leaving(cycle: Cycle, hopeless: Mask) -> bool:
    """The pod was promised a node before and those in its way are still shutting down: wait for them."""
    row = cycle.state.nodes.index.get(cycle.pod.nominated or "")
    if row is None or hopeless[row]:
        return False
    own = cycle.pod.spec.priority
    return any(pod.deleting and pod.spec.priority < own for pod in cycle.state.usage.pods_on[row])


def _may_go(pod: Pod, cycle: Cycle) -> bool:
    just_placed = pod.phase == "Pending" and pod.bound_at is not None and pod.bound_at == cycle.state.now
    return pod.spec.priority < cycle.pod.spec.priority and not just_placed


def _start(pod: Pod) -> float:
    return pod.created if pod.bound_at is None else pod.bound_at


def _importance(pod: Pod) -> tuple[float, float]:
    """Sorts the most important first: higher priority, then longer running."""
    return -pod.spec.priority, _start(pod)


def _by_budget(pods: Sequence[Pod], budgets: Sequence[DisruptionBudget]) -> tuple[list[Pod], list[Pod]]:
    """Those whose going would violate a disruption budget, and the others, each in the order given."""
    left = [budget.allowed for budget in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        hit = list(_covering(pod, budgets))
        for position in hit:
            left[position] -= 1
        (violating if any(left[position] < 0 for position in hit) else others).append(pod)
    return violating, others


def _covering(pod: Pod, budgets: Sequence[DisruptionBudget]) -> Iterator[int]:
    for position, budget in enumerate(budgets):
        if budget.covers(pod):
            yield position
