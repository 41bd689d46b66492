"""What one run may still spend: disruption budgets, one pod per workload, and the memory that prevents ping-pong."""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.descheduling.eligibility import budgets_of
from ecotone.descheduling.grounds import Grounds
from ecotone.model.objects import DisruptionBudget, Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings

MEMORY = "descheduling"
GROUNDS = "grounds"


class Ledger:
    """Starts from the snapshot's budgets and last moves; every accepted move is written into it."""

    def __init__(self, state: ClusterState, settings: DeschedulerSettings) -> None:
        self._state = state
        self._settings = settings
        self._allowed = {(each.namespace, each.name): each.allowed for each in state.budgets}
        self._moved: set[WorkloadKey] = set()
        self._left = _read(state.memory.get(MEMORY))
        self._grounds = _read_grounds(state.memory.get(GROUNDS))

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

    def returns(self, pod: Pod, target: str, *, counted: bool = False) -> bool:
        """True if this move would undo a recent one, by the same figures; `counted`: judged by what users' requests take."""
        workload = str(pod.kind.workload)
        left_at = self._left.get(workload, {}).get(target)
        if left_at is None or self._state.now - left_at >= self._settings.no_return:
            return False
        grounds = self._grounds.get(workload, {}).get(target)
        return grounds is None or not ((counted and not grounds.counted) or grounds.changed(self._state))

    def left(self, workload: WorkloadKey) -> list[str]:
        """The nodes that it left so lately that it does not return."""
        horizon = self._state.now - self._settings.no_return
        return sorted(node for node, at in self._left.get(str(workload), {}).items() if at > horizon)

    def allowed(self, budget: DisruptionBudget) -> int:
        """How many more pods this disruption budget lets go."""
        return self._allowed[budget.namespace, budget.name]

    def accept(self, pod: Pod, *, disrupts: bool = True, grounds: Grounds | None = None) -> None:
        """The pod goes; one whose replacement comes first takes nothing from its budgets."""
        self._moved.add(pod.kind.workload)
        for budget in budgets_of(self._state, pod) if disrupts else ():
            self._allowed[budget.namespace, budget.name] -= 1
        workload, node = str(pod.kind.workload), pod.node or ""
        self._left.setdefault(workload, {})[node] = self._state.now
        self._grounds.setdefault(workload, {}).pop(node, None)
        if grounds is not None:
            self._grounds[workload][node] = grounds

    def memory(self) -> dict[str, object]:
        """All that was remembered, with the nodes each workload has left lately; older moves are forgotten."""
        horizon = self._state.now - self._settings.no_return
        kept = {
            workload: {node: at for node, at in left.items() if at >= horizon} for workload, left in self._left.items()
        }
        why = {
            workload: {node: own[node].to_memory() for node in left if node in own}
            for workload, left in kept.items()
            if (own := self._grounds.get(workload))
        }
        memory = {name: value for name, value in self._state.memory.items() if name != GROUNDS}
        memory[MEMORY] = {workload: left for workload, left in kept.items() if left}
        why = {workload: own for workload, own in why.items() if own}
        return {**memory, GROUNDS: why} if why else memory


def _read(memory: object) -> dict[str, dict[str, float]]:
    if not isinstance(memory, Mapping):
        return {}
    return {str(workload): dict(left) for workload, left in memory.items() if isinstance(left, Mapping)}


def _read_grounds(memory: object) -> dict[str, dict[str, Grounds]]:
    if not isinstance(memory, Mapping):
        return {}
    return {
        str(workload): {str(node): grounds for node, kept in own.items() if (grounds := Grounds.read(kept)) is not None}
        for workload, own in memory.items()
        if isinstance(own, Mapping)
    }
