"""What a decision to leave a node rested on, and whether that has come to look different since.

A workload does not return at once to a node it has left, or only for twice the gain: figures that vary a little would send
it back and forth. That holds as long as they are the same figures. Where the distance of two nodes was not known then and is
now, where it has changed notably, or where workloads have come to be measured that were not, nothing is undone by a return:
it is another decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.peers import graph_peers, requests_of, traffic_of

NOTABLE = 0.2
_LEAST_MS = 1.0

Pair = tuple[str, str]
"""Two nodes in the order of their names."""


@dataclass(frozen=True, slots=True)
class Grounds:
    """`ways`: round trips in ms of the pairs of nodes that mattered, None where not known; `unheard`: workloads of whose
    traffic nothing was known; `counted`: what users' requests take was compared, not what the traffic of one pod costs.
    """

    ways: Mapping[Pair, float | None]
    unheard: frozenset[WorkloadKey] = frozenset()
    counted: bool = False

    def changed(self, state: ClusterState) -> bool:
        """True if what is known now is not what was known then."""
        index = state.nodes.index
        for (one, other), then in self.ways.items():
            if one in index and other in index and _differs(then, state.network.between(index[one], index[other])):
                return True
        return any(heard(state, key) for key in self.unheard)

    def to_memory(self) -> list[object]:
        ways = [[one, other, ms] for (one, other), ms in sorted(self.ways.items())]
        return [ways, [[key.namespace, key.name, key.kind] for key in sorted(self.unheard)], self.counted]

    @classmethod
    def read(cls, kept: object) -> Grounds | None:
        """What `to_memory` wrote; anything else is nothing."""
        if not isinstance(kept, list | tuple):
            return None
        try:
            ways, silent, counted = kept
            return cls(
                {pair_of(str(one), str(other)): None if ms is None else float(ms) for one, other, ms in ways},
                frozenset(WorkloadKey(str(space), str(name), str(kind)) for space, name, kind in silent),
                bool(counted),
            )
        except (TypeError, ValueError):
            return None


def _differs(then: float | None, now: float | None) -> bool:
    if now is None or then is None:
        return now is not None
    return abs(now - then) > max(_LEAST_MS, NOTABLE * max(now, then))


def pair_of(one: str, other: str) -> Pair:
    return (one, other) if one <= other else (other, one)


def ways_between(state: ClusterState, pairs: Iterable[tuple[int, int]]) -> dict[Pair, float | None]:
    """What is known of these pairs of rows."""
    names = state.nodes.names
    return {pair_of(names[a], names[b]): state.network.between(a, b) for a, b in pairs if a != b}


def ways_of_pod(state: ClusterState, pod: Pod, target: str) -> dict[Pair, float | None]:
    """Those from where a pod is, and from its target, to its peers."""
    rows = sorted({row for peer in graph_peers(state, pod.kind) for row in peer.rows.tolist()})
    ends = [state.nodes.index[each] for each in (pod.node, target) if each in state.nodes.index]
    return ways_between(state, ((end, row) for end in ends for row in rows))


def heard(state: ClusterState, key: WorkloadKey) -> bool:
    """True if anything is known of a workload's traffic now."""
    workload = state.workloads.get(key)
    if workload is None:
        return False
    return traffic_of(state, workload) is not None or requests_of(state, workload) is not None
