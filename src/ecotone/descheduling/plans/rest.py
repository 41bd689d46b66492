"""Applications at rest: what was searched and left as it is need not be searched again before something changes.

A search takes tenths of a second for fifty workloads, and of two hundred applications most are at rest in most rounds. What
the answer depends on is brought together into a digest: the application's own figures, and of the nodes that matter to it
what they are and what runs there. What filters may look at beyond them (pods of others in a zone, say) is not in it, so
an answer is not kept longer than ten minutes, fewer for some than for others, so that they do not end together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

from ecotone.model.draw import hash_text
from ecotone.model.state import ClusterState
from ecotone.scheduling.response.call_graph import CallGraph

MEMORY = "at rest"
KEPT_SECONDS = 600.0


class AtRest:
    """What the memory says about applications that were left as they are."""

    def __init__(self, memory: Mapping[str, object], *, now: float) -> None:
        kept = memory.get(MEMORY)
        self._before = dict(kept) if isinstance(kept, Mapping) else {}
        self._now = now
        self._kept: dict[str, list[object]] = {}

    def knows(self, application: CallGraph, digest: str) -> bool:
        """True if this very question was asked lately and the answer was to leave everything as it is."""
        name = _name(application)
        match self._before.get(name):
            case [str() as known, float() | int() as at]:
                lasts = KEPT_SECONDS * (0.5 + hash_text(name) % 1000 / 2000)
                if known == digest and 0.0 <= self._now - at < lasts:
                    self._kept[name] = [known, at]
                    return True
        return False

    def note(self, application: CallGraph, digest: str) -> None:
        self._kept[_name(application)] = [digest, self._now]

    def write(self, memory: Mapping[str, object]) -> dict[str, object]:
        return {**memory, MEMORY: self._kept}


def digest_of(state: ClusterState, application: CallGraph, *, more: Iterable[object]) -> str:
    """The same for the same question; ``more`` is what the asker adds to it."""
    rows = application.rows
    found = blake2b(digest_size=16)
    for array in (
        application.counts,
        application.users,
        application.rtt,
        application.use,
        application.other,
        application.cores,
        application.zones,
        state.nodes.allocatable[rows],
        state.usage.requested[rows],
        state.usage.pod_count[rows],
    ):
        found.update(array.tobytes())
    for each in application.deadlines:
        found.update(each.price.tobytes())
    for row in rows.tolist():
        node = state.nodes.nodes[row]
        told = (
            node.name,
            node.unschedulable,
            node.ready,
            node.taints,
            sorted(node.labels.items()),
            node.price_per_hour,
        )
        found.update(repr(told).encode())
    found.update(repr((application.calls, application.balance, application.kinds, *more)).encode())
    return found.hexdigest()


def _name(application: CallGraph) -> str:
    return "/".join(application.names[0])
