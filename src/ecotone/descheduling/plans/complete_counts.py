"""Which workloads' calls may not all be counted yet, where counters are read over a window.

A new series is counted once it has filled its window, while one that ends shrinks at once. When users turn to another API,
the calls that a service no longer makes are gone before those that it makes instead are seen: for a window's length it looks
as if it needed its users and nobody else, and a plan would take it away from those it is about to call. What leaves a
workload for each request that enters it is therefore remembered. Where less leaves than before, calls may be missing until
figures have had the time to show them (`reach`); and so they may for as long where a workload has just begun to receive
requests: each series is scraped and written when its own turn comes, and a scrape that fails holds up those it concerns.
"""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.model.arrays import Ints
from ecotone.scheduling.response.call_graph import CallGraph

MEMORY = "leaving"
_ALIKE = 0.8  # of what left before: chance makes as much difference
_FADING = 0.1  # of the difference, from round to round: what left once by chance is not waited for, what ends in small steps is


class CompleteCounts:
    """`reach`: seconds that figures reach back from the moment they are read; 0 if they are of that moment, and complete."""

    def __init__(self, memory: Mapping[str, object], *, now: float, reach: float) -> None:
        kept = memory.get(MEMORY)
        self._before: Mapping[str, object] = kept if isinstance(kept, Mapping) else {}
        self._now = now
        self._reach = reach
        self._known: dict[str, list[float]] = {}
        self._doubtful: set[str] = set()

    def note(self, application: CallGraph) -> None:
        """What leaves each workload now."""
        if self._reach <= 0.0:
            return
        leaving = [0.0] * len(application.names)
        for call in application.calls:
            leaving[call.caller] += call.rate
        for workload, entering in enumerate(application.incoming.tolist()):
            if entering > 0.0:
                self._note("/".join(application.names[workload]), leaving[workload] / entering)

    def _note(self, name: str, share: float) -> None:
        match self._before.get(name):
            case [float() as usual, float() as at, float() as first] if self._now - at <= self._reach:
                if share >= _ALIKE * usual:
                    self._known[name] = [max(share, usual + _FADING * (share - usual)), self._now, first]
                else:
                    self._known[name] = [usual, at, first]
                    self._doubtful.add(name)
                if self._now - first < self._reach:
                    self._doubtful.add(name)
            case [float(), float(), float() as first]:
                # Less leaves than before, and has for so long that it must be all.
                self._known[name] = [share, self._now, first]
            case _:
                self._known[name] = [share, self._now, self._now]
                self._doubtful.add(name)

    def missing(self, application: CallGraph, target: Ints) -> str | None:
        """A workload that would move although calls of it may be missing."""
        moves = (target != application.counts).any(axis=1).tolist()
        names = ("/".join(name) for name in application.names)
        return next((name for name, moved in zip(names, moves, strict=True) if moved and name in self._doubtful), None)

    def write(self, memory: Mapping[str, object]) -> dict[str, object]:
        return {**memory, MEMORY: self._known} if self._reach > 0.0 else dict(memory)
