"""An application as traffic sees it: workloads joined by calls, the users who enter, and the nodes that matter.

Workloads are few and their replicas alike, so a placement is a table of counts x[w, n] and not a list of pods. Rates are
requests per second. `graph` reads applications off a cluster; a scenario may state one outright.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ecotone.model.arrays import Floats, Ints, Mask, Rows
from ecotone.model.objects import PodKind
from ecotone.model.workloads import Name

UNIFORM, SAME_ZONE, SAME_NODE = range(3)


@dataclass(frozen=True, slots=True)
class Calls:
    """One channel, from caller to callee, both as indices into the application's workloads.

    A call that nobody waits for is not `awaited`, and its rate is what it counts, less than how many there are.
    """

    caller: int
    callee: int
    rate: float
    awaited: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Deadline:
    """A channel that should be within a bound: `price[m, n]` in ms for calls from node m to node n, 0 where in time."""

    caller: int
    callee: int
    price: Floats


@dataclass(frozen=True, slots=True, eq=False)
class CallGraph:
    """Workloads w by index, nodes n by position in `rows`.

    `counts`: pods that serve or will soon; `users`: requests per second that enter at each node for each workload; `use`:
    CPU of all pods of a workload together, `other`: CPU of everybody else, both in millicores; `rate`: requests per second
    that users send, by which everything is divided; `unawaited`: what a millisecond counts that nobody waits.
    """

    names: tuple[Name, ...]
    kinds: tuple[PodKind, ...]
    rows: Rows
    counts: Ints
    calls: tuple[Calls, ...]
    users: Floats
    balance: tuple[int, ...]
    zones: Ints
    rtt: Floats
    use: Floats
    other: Floats
    cores: Floats
    rate: float
    order: tuple[int, ...]
    cyclic: bool
    deadlines: tuple[Deadline, ...] = ()
    unawaited: float = 0.0

    @property
    def replicas(self) -> Ints:
        found: Ints = self.counts.sum(axis=1)
        return found

    @property
    def channels(self) -> list[tuple[int, int]]:
        """Who calls whom, and whose calls to whom have a deadline."""
        return [(call.caller, call.callee) for call in self.calls] + [
            (late.caller, late.callee) for late in self.deadlines
        ]

    @property
    def incoming(self) -> Floats:
        """Requests per second that each workload gets, from users and from others."""
        found: Floats = self.users.sum(axis=1)
        for call in self.calls:
            found[call.callee] += call.rate
        return found

    @property
    def awaited(self) -> Mask:
        """Workloads that somebody waits for: users enter there, or a caller waits for their answer."""
        found: Mask = self.users.sum(axis=1) > 0.0
        for call in self.calls:
            found[call.callee] |= call.awaited and call.rate > 0.0
        return found


def callers_first(size: int, calls: Iterable[Calls]) -> tuple[tuple[int, ...], bool]:
    """Workloads so that callers come before callees; True if calls go in circles, which are cut at the lowest index."""
    callers: list[set[int]] = [set() for _ in range(size)]
    for call in calls:
        callers[call.callee].add(call.caller)
    order: list[int] = []
    left = set(range(size))
    cyclic = False
    while left:
        free = sorted(each for each in left if not callers[each] & left)
        if not free:
            cyclic = True
            free = [min(left)]
        order += free
        left -= set(free)
    return tuple(order), cyclic


def joined(size: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """What is connected by these pairs, each part sorted, in the order of their first members."""
    roots = list(range(size))

    def root(each: int) -> int:
        while roots[each] != each:
            roots[each] = each = roots[roots[each]]
        return each

    for one, other in pairs:
        low, high = sorted((root(one), root(other)))
        roots[high] = low
    found: dict[int, list[int]] = {}
    for each in range(size):
        found.setdefault(root(each), []).append(each)
    return list(found.values())
