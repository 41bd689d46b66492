"""Figures that a move rests on and that nobody has measured yet: it waits for them, but not for ever.

What is not known takes the pessimistic end of what is, which is right for choosing a place, and wrong as a reason to leave
one: when measuring begins, every figure that comes in would send pods to where the next one calls them away from. So a
move waits as long as its gain rests on a pair of nodes without a round trip or on a workload without any figure. Some
are never measured (a firewall, a pod that nobody scrapes): what has been missing for `LONGEST` seconds is no longer
waited for, and then counts as it always does. Since when something is missing is kept in the policy's memory. Who only
asks what would be done (`plan`) has no memory, and is told what is missing instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ecotone.descheduling.grounds import Pair
from ecotone.model.columns.network import is_stale
from ecotone.model.objects import WorkloadKey
from ecotone.model.state import ClusterState

MEMORY = "missing"
LONGEST = 300.0
_MOST_KEPT = 1000
_NAMED = 3
_BETWEEN = " - "


class Missing:
    """Since when what was missed is missing; `write` forgets what has come."""

    def __init__(self, state: ClusterState, told: Callable[[Sequence[str]], None] | None = None) -> None:
        self._state = state
        self._told = told
        kept = state.memory.get(MEMORY)
        self._since = {
            str(name): float(at)
            for name, at in (kept.items() if isinstance(kept, Mapping) else ())
            if isinstance(at, int | float) and at <= state.now
        }
        self._missed: dict[str, float] = {}

    def waits_for(self, ways: Iterable[Pair], workloads: Iterable[WorkloadKey]) -> str | None:
        """What of this, all of it unknown, is still waited for, in words; None if nothing is."""
        waiting = []
        longest = 0.0
        for name in (*(f"{one}{_BETWEEN}{other}" for one, other in sorted(ways)), *map(str, sorted(workloads))):
            since = self._missed.setdefault(name, self._since.get(name, self._state.now))
            if self._state.now - since < LONGEST:
                waiting.append(name)
                longest = max(longest, LONGEST - (self._state.now - since))
        if waiting and self._told is not None:
            self._told(waiting)
            return None
        return f"{listed(waiting)} not measured yet; it waits for that, {longest:.0f} s at most" if waiting else None

    def write(self, memory: Mapping[str, object]) -> dict[str, object]:
        """What is not asked about in one round may be in the next: it is forgotten when it is known, or gone."""
        named = {str(key): key for key in self._state.workloads} if self._since else {}
        earlier = {name: at for name, at in self._since.items() if self._still_missing(name, named)}
        kept = dict(list({**self._missed, **earlier, **self._missed}.items())[:_MOST_KEPT])
        others = {name: value for name, value in memory.items() if name != MEMORY}
        return {**others, MEMORY: kept} if kept else others

    def _still_missing(self, name: str, named: Mapping[str, WorkloadKey]) -> bool:
        one, between, other = name.partition(_BETWEEN)
        if not between:
            return name in named and not _measured(self._state, named[name])
        index = self._state.nodes.index
        return one in index and other in index and self._state.network.between(index[one], index[other]) is None


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def unmeasured(state: ClusterState, keys: Iterable[WorkloadKey]) -> list[WorkloadKey]:
    """Those of which nothing at all is known, though somebody measures others of them."""
    known = {key: _measured(state, key) for key in keys if key in state.workloads}
    return sorted(key for key, measured in known.items() if not measured) if any(known.values()) else []


def _measured(state: ClusterState, key: WorkloadKey) -> bool:
    workload = state.workloads.get(key)
    if workload is None or is_stale(workload.measured_at, now=state.now, max_age=state.max_age):
        return False
    return any(each is not None for each in (workload.cpu_usage, workload.traffic, workload.requests, workload.calls))
