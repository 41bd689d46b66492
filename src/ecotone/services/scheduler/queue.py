"""The scheduling queue: who is decided next, and who waits for what.

A pending pod is in exactly one place. *Active* pods are popped in the policy's order. A pod that fits nowhere becomes
*unschedulable* together with the names of the plugins that rejected it, and stays there until a change in the cluster
that could help one of those plugins (the caller's hint decides), or until the safety flush. It then serves a *back-off*
(one second, doubling, at most ten) before it is active again. A *gated* pod is kept out by a PreEnqueue plugin and not
considered at all until that plugin lets it in. A change that arrives while a pod is being decided would be missed, so
changes since the oldest pod in flight are kept and replayed when the pod comes back.

Nothing here knows what time it is: the caller passes ``now``.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import Any, Generic, TypeVar

import msgspec

from ecotone.model.objects import Pod

E = TypeVar("E")

FIRST_BACKOFF = 1.0
LONGEST_BACKOFF = 10.0
FLUSH_SECONDS = 300.0

SortKey = Callable[[Pod], Any]


class Place(Enum):
    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    GATED = "gated"
    IN_FLIGHT = "in flight"


class Entry(msgspec.Struct, eq=False):
    """A pending pod and its history in the queue."""

    pod: Pod
    added: float
    attempts: int = 0
    failures: int = 0
    rejected_by: frozenset[str] = frozenset()
    since: float = 0.0
    popped: int = 0
    place: Place = Place.ACTIVE
    group: tuple[Hashable, frozenset[str]] | None = None
    token: int = 0
    """Entries are removed from heaps lazily: a heap item with an old token is dead."""


class _Change(msgspec.Struct, Generic[E]):
    number: int
    event: E


class Counts(msgspec.Struct):
    incoming: dict[tuple[str, str], int] = msgspec.field(default_factory=dict)

    def add(self, place: Place, event: str) -> None:
        key = (place.value, event)
        self.incoming[key] = self.incoming.get(key, 0) + 1


class SchedulingQueue(Generic[E]):
    """``helps(event, entry)`` says whether a change in the cluster may make a rejected pod fit; ``gate(pod)`` names the
    plugin that keeps a pod out of the queue, None if nobody does.
    """

    def __init__(
        self,
        *,
        key: SortKey,
        helps: Callable[[E, Entry], bool],
        gate: Callable[[Pod], str | None],
        first_backoff: float = FIRST_BACKOFF,
        longest_backoff: float = LONGEST_BACKOFF,
        flush_after: float = FLUSH_SECONDS,
    ) -> None:
        self._key = key
        self._helps = helps
        self._gate = gate
        self._first_backoff = first_backoff
        self._longest_backoff = longest_backoff
        self._flush_after = flush_after
        self._entries: dict[str, Entry] = {}
        self._active: list[tuple[Any, float, int, int, Entry]] = []
        self._backoff: list[tuple[float, int, int, Entry]] = []
        # By what the hint depends on: a thousand replicas that fit nowhere are asked about once, not a thousand times.
        self._unschedulable: dict[tuple[Hashable, frozenset[str]], dict[str, Entry]] = {}
        self._gated: dict[tuple[Hashable, frozenset[str]], dict[str, Entry]] = {}
        self._flushes: list[tuple[float, int, int, Entry]] = []
        self._changes: deque[_Change[E]] = deque()
        self._change_number = 0
        self._in_flight: dict[str, Entry] = {}
        self._sequence = itertools.count()
        self._sizes = dict.fromkeys(Place, 0)
        self.counts = Counts()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def size(self, place: Place) -> int:
        return self._sizes[place]

    def entry(self, uid: str) -> Entry | None:
        return self._entries.get(uid)

    def add(self, pod: Pod, *, now: float) -> None:
        """A pending pod was created, or changed."""
        entry = self._entries.get(pod.uid)
        if entry is None:
            entry = Entry(pod, added=now)
            self._entries[pod.uid] = entry
            self._sizes[Place.ACTIVE] += 1
            place = Place.GATED if self._is_gated(entry) else Place.ACTIVE
            self._put(entry, place, event="PodAdd")
            return
        before, entry.pod = entry.pod, pod
        if entry.place is Place.IN_FLIGHT:
            return
        if entry.place is Place.GATED:
            self._put(entry, Place.GATED if self._is_gated(entry) else Place.ACTIVE, event="PodUpdate")
        elif before.kind != pod.kind and self._is_gated(entry):
            self._put(entry, Place.GATED, event="Gated")
        elif before.kind != pod.kind:
            # Its own labels, requests or tolerations changed: what rejected it may no longer apply.
            if entry.place is Place.UNSCHEDULABLE:
                self._wake(entry, now=now, event="PodUpdate")
            elif entry.place is Place.ACTIVE:
                self._put(entry, Place.ACTIVE, event="PodUpdate")

    def remove(self, uid: str) -> None:
        """The pod is bound, deleted, or no longer ours."""
        entry = self._entries.pop(uid, None)
        if entry is None:
            return
        entry.token = next(self._sequence)
        self._sizes[entry.place] -= 1
        self._ungroup(entry)
        if self._in_flight.pop(uid, None) is not None:
            self._trim()

    def pop(self, *, now: float, limit: int, same: Callable[[Pod], Hashable] | None = None) -> list[Entry]:
        """The next pod, and with ``same`` those right behind it that are its equals, at most ``limit``."""
        self.advance(now=now)
        batch: list[Entry] = []
        signature: Hashable = None
        while len(batch) < limit:
            entry = self._head()
            if entry is None or (batch and (same is None or same(entry.pod) != signature)):
                break
            if not batch and same is not None:
                signature = same(entry.pod)
            heapq.heappop(self._active)
            self._let_fly(entry)
            batch.append(entry)
        return batch

    def claim(self, belongs: Callable[[Entry], bool]) -> list[Entry]:
        """Every waiting pod that belongs, whatever it waits for: an all-or-nothing group is decided as a whole."""
        found = [
            entry
            for entry in self._entries.values()
            if entry.place not in (Place.IN_FLIGHT, Place.GATED) and belongs(entry)
        ]
        for entry in found:
            self._ungroup(entry)
            self._let_fly(entry)
        return found

    def _let_fly(self, entry: Entry) -> None:
        entry.attempts += 1
        entry.popped = self._change_number
        self._move(entry, Place.IN_FLIGHT)
        self._in_flight[entry.pod.uid] = entry

    def done(self, uid: str) -> None:
        """The pod was assumed on a node: it leaves the queue unless ``retry`` brings it back."""
        self.remove(uid)

    def unschedulable(self, entry: Entry, *, rejected_by: frozenset[str], now: float) -> None:
        """No node fits; it waits for a change that could help, including those that came meanwhile."""
        if self._entries.get(entry.pod.uid) is not entry:
            return
        entry.rejected_by = rejected_by
        entry.failures += 1
        entry.since = now
        missed = [change.event for change in self._changes if change.number > entry.popped]
        self._in_flight.pop(entry.pod.uid, None)
        self._trim()
        if self._is_gated(entry):
            self._put(entry, Place.GATED, event="Gated")
        elif any(self._helps(event, entry) for event in missed):
            self._put(entry, Place.BACKOFF, event="ScheduleAttemptFailure")
        else:
            self._put(entry, Place.UNSCHEDULABLE, event="ScheduleAttemptFailure")

    def retry(self, entry: Entry, *, now: float, event: str = "BindFailure") -> None:
        """The attempt failed for a reason that is not the pod's: again after a back-off."""
        self._entries.setdefault(entry.pod.uid, entry)
        if self._entries[entry.pod.uid] is not entry:
            return
        if self._in_flight.pop(entry.pod.uid, None) is None:
            entry.place = Place.ACTIVE
            self._sizes[Place.ACTIVE] += 1
        entry.failures += 1
        entry.since = now
        self._trim()
        self._put(entry, Place.BACKOFF, event=event)

    def happened(self, event: E, *, now: float, name: str) -> int:
        """A change in the cluster: pods it may help leave the unschedulable ones. Returns how many."""
        if self._in_flight:
            self._change_number += 1
            self._changes.append(_Change(self._change_number, event))
        let_in = self._ask_the_gate_again(event, name=name) if self._gated else 0
        if not self._unschedulable:
            return let_in
        groups = [group for group in self._unschedulable.values() if self._helps(event, next(iter(group.values())))]
        woken = [entry for group in groups for entry in group.values()]
        for entry in woken:
            self._wake(entry, now=now, event=name)
        return len(woken) + let_in

    def _is_gated(self, entry: Entry) -> bool:
        """True if a plugin keeps the pod out; the entry then says which."""
        plugin = self._gate(entry.pod)
        if plugin is not None:
            entry.rejected_by = frozenset({plugin})
        return plugin is not None

    def _ask_the_gate_again(self, event: E, *, name: str) -> int:
        groups = [group for group in self._gated.values() if self._helps(event, next(iter(group.values())))]
        asked = [entry for group in groups for entry in group.values()]
        for entry in asked:
            self._put(entry, Place.GATED if self._is_gated(entry) else Place.ACTIVE, event=name)
        return sum(entry.place is Place.ACTIVE for entry in asked)

    def advance(self, *, now: float) -> None:
        """Lets time pass: back-offs that ended, and the safety flush."""
        while self._backoff and (self._backoff[0][0] <= now or self._dead(self._backoff[0])):
            _, _, token, entry = heapq.heappop(self._backoff)
            if token == entry.token:
                self._put(entry, Place.ACTIVE, event="BackoffComplete")
        while self._flushes and (self._flushes[0][0] <= now or self._dead(self._flushes[0])):
            _, _, token, entry = heapq.heappop(self._flushes)
            if token == entry.token:
                self._wake(entry, now=now, event="UnschedulableTimeout")

    def next_moment(self) -> float | None:
        """When ``advance`` next has something to do."""
        for heap in (self._backoff, self._flushes):
            while heap and self._dead(heap[0]):
                heapq.heappop(heap)
        return min((heap[0][0] for heap in (self._backoff, self._flushes) if heap), default=None)

    @property
    def has_active(self) -> bool:
        return self._head() is not None

    def backoff_end(self, entry: Entry) -> float:
        delay = min(self._longest_backoff, self._first_backoff * 2.0 ** max(0, entry.failures - 1))
        return entry.since + delay

    def _wake(self, entry: Entry, *, now: float, event: str) -> None:
        place = Place.BACKOFF if self.backoff_end(entry) > now else Place.ACTIVE
        self._put(entry, place, event=event)

    def _put(self, entry: Entry, place: Place, *, event: str) -> None:
        self._ungroup(entry)
        self._move(entry, place)
        self.counts.add(place, event)
        if place is Place.ACTIVE:
            heapq.heappush(self._active, (self._key(entry.pod), entry.added, next(self._sequence), entry.token, entry))
        elif place is Place.BACKOFF:
            heapq.heappush(self._backoff, (self.backoff_end(entry), next(self._sequence), entry.token, entry))
        elif place is Place.GATED:
            entry.group = (entry.pod.kind, entry.rejected_by)
            self._gated.setdefault(entry.group, {})[entry.pod.uid] = entry
        elif place is Place.UNSCHEDULABLE:
            entry.group = (entry.pod.kind, entry.rejected_by)
            self._unschedulable.setdefault(entry.group, {})[entry.pod.uid] = entry
            flush = entry.since + self._flush_after
            heapq.heappush(self._flushes, (flush, next(self._sequence), entry.token, entry))

    def _ungroup(self, entry: Entry) -> None:
        if entry.group is not None:
            groups = self._gated if entry.place is Place.GATED else self._unschedulable
            group = groups[entry.group]
            del group[entry.pod.uid]
            if not group:
                del groups[entry.group]
            entry.group = None

    def _move(self, entry: Entry, place: Place) -> None:
        self._sizes[entry.place] -= 1
        self._sizes[place] += 1
        entry.place = place
        entry.token = next(self._sequence)

    def _head(self) -> Entry | None:
        while self._active:
            *_, token, entry = self._active[0]
            if token == entry.token:
                return entry
            heapq.heappop(self._active)
        return None

    @staticmethod
    def _dead(item: tuple[float, int, int, Entry]) -> bool:
        return item[2] != item[3].token

    def _trim(self) -> None:
        if not self._in_flight:
            self._changes.clear()
            return
        oldest = next(iter(self._in_flight.values())).popped  # they stand in the order in which they were popped
        while self._changes and self._changes[0].number <= oldest:
            self._changes.popleft()
