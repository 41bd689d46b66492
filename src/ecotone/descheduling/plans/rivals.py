"""Who might make room for an application that is left where it is though it could be faster elsewhere.

Only applications of the same namespace: what one tenant has on his workloads moves only his own pods. Of these the ones
that have pods, which may move, on nodes nearer to its users (or to what of it stays where it is) than its own pods are, the
nearest first and no more than a few. One that moves now, or moved a moment ago, is asked later.

A search over several applications takes tenths of a second, so only a few applications have their turn in a round; the
others wait in a queue, which is kept in the policy's memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ecotone.model.arrays import Floats, Mask
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling.response.call_graph import CallGraph
from ecotone.scheduling.response.prediction import Prediction

MEMORY = "room"
_RIVALS = 4
_TURNS = 2
_MOST = 1000  # workloads of all of them times nodes: beyond it fewer others are asked


@dataclass(frozen=True, eq=False)
class Asked:
    """An application in this round: its pods, which of its workloads may move, and whether a plan for it is under way."""

    application: CallGraph
    pods: dict[WorkloadKey, list[Pod]]
    movable: Mask
    busy: bool

    @property
    def name(self) -> str:
        return "/".join(self.application.names[0])

    @cached_property
    def held(self) -> list[int]:
        """The rows of the nodes that have pods of it."""
        rows: list[int] = self.application.rows[self.application.counts.any(axis=0)].tolist()
        return rows

    @property
    def spent(self) -> float:
        """Milliseconds per second that its users wait."""
        now = self.application.counts[np.newaxis].astype(np.float64)
        return float(Prediction(self.application).cost(now)[0]) * self.application.rate


@dataclass(frozen=True, slots=True)
class Rivals:
    """`ready` to be asked; `later`: others will be once their own moves are over."""

    ready: list[Asked]
    later: bool


def rivals(
    state: ClusterState, asked: Asked, others: Iterable[Asked], under_way: Collection[WorkloadKey], *, cool_down: float
) -> Rivals:
    far, here = _far(asked)
    own = {kind.workload for kind in asked.application.kinds}
    moving = bool(own & set(under_way))
    found: list[tuple[float, tuple[str, str], Asked]] = []
    later = moving
    for other in others:
        application = other.application
        if other is asked or application.names[0][0] != asked.application.names[0][0]:
            continue
        nearest = min((far[row] for row in other.held if far.get(row, here) < here - 1e-9), default=None)
        if nearest is None:
            continue
        keys = {kind.workload for kind in application.kinds}
        lately = any(_moved_lately(state, key, cool_down) for key in keys)
        if other.busy or keys & set(under_way) or lately:
            later = True
        elif other.movable.any():
            found.append((nearest, application.names[0], other))
    found.sort(key=lambda each: each[:2])
    return Rivals([] if moving else _few(asked, [each for *_, each in found[:_RIVALS]]), later)


def _few(asked: Asked, found: list[Asked]) -> list[Asked]:
    """As many of them as a search can look at with it in a moment."""
    rows, workloads = asked.application.rows, len(asked.application.names)
    for number, each in enumerate(found):
        rows = np.union1d(rows, each.application.rows)
        workloads += len(each.application.names)
        if workloads * len(rows) > _MOST:
            return found[:number]
    return found


def _far(asked: Asked) -> tuple[dict[int, float], float]:
    """By row, how far each node is from whom its pods are there for; and how far they are now, on average."""
    application = asked.application
    shares = application.counts / np.maximum(application.replicas, 1)[:, np.newaxis]
    weight: Floats = application.users.sum(axis=0)
    for call in application.calls:
        for end in (call.caller, call.callee):
            if not asked.movable[end]:
                weight = weight + call.rate * shares[end]
    far = weight @ application.rtt / max(float(weight.sum()), 1e-9)
    moves = shares[asked.movable]
    here = float((moves @ far).mean()) if len(moves) else 0.0
    return dict(zip(application.rows.tolist(), far.tolist(), strict=True)), here


def _moved_lately(state: ClusterState, workload: WorkloadKey, cool_down: float) -> bool:
    last = state.last_moves.get(workload)
    return last is not None and state.now - last < cool_down


class Turns:
    """Whose turn it is: who waits since earlier rounds first, then those that cost their users most."""

    def __init__(self, memory: Mapping[str, object]) -> None:
        kept = memory.get(MEMORY)
        known = [each for each in kept if isinstance(each, str)] if isinstance(kept, list | tuple) else []
        self._place = {name: number for number, name in enumerate(known)}
        self._waiting: list[str] = []
        self._left = _TURNS

    @property
    def over(self) -> bool:
        return self._left <= 0

    def waits(self, asked: Asked) -> bool:
        return asked.name in self._place

    def taken(self, asked: Iterable[Asked]) -> list[Asked]:
        """In the order of their turns."""
        last = len(self._place)
        return sorted(asked, key=lambda each: (self._place.get(each.name, last), -each.spent, each.name))

    def take(self) -> None:
        self._left -= 1

    def wait(self, asked: Asked) -> None:
        self._waiting.append(asked.name)

    def write(self, memory: Mapping[str, object]) -> dict[str, object]:
        found = {name: value for name, value in memory.items() if name != MEMORY}
        return {**found, MEMORY: self._waiting} if self._waiting else found
