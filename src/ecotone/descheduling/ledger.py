"""What one run may still spend: disruption budgets, one pod per workload, and the memory that prevents ping-pong."""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.descheduling.eligibility import budgets_of
from ecotone.model.objects import DisruptionBudget, Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings

MEMORY = "descheduling"


class Ledger:
    """Starts from the snapshot's budgets and last moves; every accepted move is written into it."""

    def __init__(self, state: ClusterState, settings: DeschedulerSettings) -> None:
        self._state = state
        self._settings = settings
        self._allowed = {(each.namespace, each.name): each.allowed for each in state.budgets}
        self._moved: set[WorkloadKey] = set()
        self._left = _read(state.memory.get(MEMORY))

    def forbids(self, pod: Pod) -> str | None:
        """Why this pod cannot be evicted in this run."""
        if pod.kind.workload in self._moved:
            return "a pod of its workload moves in this run already"
        for budget in budgets_of(self._state, pod):
            if self._allowed[budget.namespace, budget.name] < 1:
                return f"disruption budget {budget.name} allows no more"
        last = self._state.last_moves.get(pod.kind.workload)
        if last is not None and self._state.now - last < self._settings.cool_down:
            ago = self._state.now - last
            return f"its workload moved {ago:.0f} s ago, less than coolDownSeconds {self._settings.cool_down:g}"
        return None

    def returns(self, pod: Pod, target: str) -> bool:
        """True if this move would undo a recent one."""
        left_at = self._left.get(str(pod.kind.workload), {}).get(target)
        return left_at is not None and self._state.now - left_at < self._settings.no_return

    def left(self, workload: WorkloadKey) -> list[str]:
        """The nodes that it left so lately that it does not return."""
        horizon = self._state.now - self._settings.no_return
        return sorted(node for node, at in self._left.get(str(workload), {}).items() if at > horizon)

    def allowed(self, budget: DisruptionBudget) -> int:
        """How many more pods this disruption budget lets go."""
        return self._allowed[budget.namespace, budget.name]

    def accept(self, pod: Pod, *, disrupts: bool = True) -> None:
        """The pod goes; one whose replacement comes first takes nothing from its budgets."""
        self._moved.add(pod.kind.workload)
        for budget in budgets_of(self._state, pod) if disrupts else ():
            self._allowed[budget.namespace, budget.name] -= 1
        self._left.setdefault(str(pod.kind.workload), {})[pod.node or ""] = self._state.now

    def memory(self) -> dict[str, object]:
        """All that was remembered, with the nodes each workload has left lately; older moves are forgotten."""
        horizon = self._state.now - self._settings.no_return
        kept = {
            workload: {node: at for node, at in left.items() if at >= horizon} for workload, left in self._left.items()
        }
        return {**self._state.memory, MEMORY: {workload: left for workload, left in kept.items() if left}}


def _read(memory: object) -> dict[str, dict[str, float]]:
    if not isinstance(memory, Mapping):
        return {}
    return {str(workload): dict(left) for workload, left in memory.items() if isinstance(left, Mapping)}
