"""Moves, what they promised and what they brought; and the breaker that trips when the two do not agree.

Events expire, so the recent moves of an application are kept in its AppGroup's status, cool-downs and breaker with them: a
new leader, or the same program after a restart, continues where the last one was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from ecotone.descheduling.plans import plan as plans
from ecotone.manifests.times import parse_time
from ecotone.model.errors import InputError
from ecotone.model.objects import WorkloadKey

KEPT = 20
MOST_KEPT = 100
"""With the moves of a plan that has not been measured yet."""
TRIP_AFTER = 3
"""So many finished moves in a row must disappoint before the breaker trips."""
FIRST_BREAK_SECONDS = 600.0
LONGEST_BREAK_SECONDS = 4 * 3600.0
MOST_TRIPS = 1000
LAST_TIME = 253_402_300_799.0
"""The end of the year 9999."""


class Outcome(Enum):
    STARTED = "Started"
    """Evicted; the replacement is not ready yet."""
    DONE = "Done"
    ELSEWHERE = "Elsewhere"
    """The replacement runs, but not where it was meant to."""
    NOT_READY = "NotReady"
    """No replacement became ready in time."""
    REFUSED = "Refused"
    UNDONE = "Undone"
    """A surge that was taken back."""


@dataclass(frozen=True, slots=True)
class Move:
    """`gain` was promised and `measured` found afterwards, both in `unit`.

    `plan`: when the plan began that it is a part of; 0 for a move by itself. A plan is measured when it is over, so until
    then its moves have no `measured`; each has the same share of what the plan promised, and of what it brought.
    """

    at: float
    pod: str
    uid: str
    workload: WorkloadKey
    origin: str
    target: str
    gain: float
    unit: str
    before: float | None = None
    outcome: Outcome = Outcome.STARTED
    landed: str = ""
    measured: float | None = None
    surge: bool = False
    detail: str = ""
    plan: float = 0.0

    @property
    def disappointed(self) -> bool:
        """True if it did not bring what it was made for: the cost rose, or nothing became ready.

        Moves that make way for a pod without a place promise no gain, so a cost that rose says nothing about them.
        """
        return self.outcome is Outcome.NOT_READY or (self.gain > 0 and self.measured is not None and self.measured < 0)


def time_text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(told: Any) -> float:
    """A time that can be written again; InputError otherwise."""
    moment = parse_time(told)
    if not 0 <= moment <= LAST_TIME:
        raise InputError(f"{told!r} is no time of a move")
    return moment


def as_status(move: Move) -> dict[str, Any]:
    told: dict[str, Any] = {
        "at": time_text(move.at),
        "pod": move.pod,
        "uid": move.uid,
        "workload": move.workload.name,
        "kind": move.workload.kind,
        "from": move.origin,
        "to": move.target,
        "predictedGain": round(move.gain, 6),
        "unit": move.unit,
        "outcome": move.outcome.value,
    }
    for key, value in (("costBefore", move.before), ("measuredGain", move.measured)):
        if value is not None:
            told[key] = round(value, 6)
    texts = {"landed": move.landed, "detail": move.detail[:200]}
    told |= {key: text for key, text in texts.items() if text}
    if move.plan:
        told["plan"] = time_text(move.plan)
    return told | ({"surge": True} if move.surge else {})


def from_status(told: Any, *, namespace: str) -> Move | None:
    """What ``as_status`` wrote; anything else is none of ours."""
    try:
        return Move(
            at=read_time(told["at"]),
            pod=str(told["pod"]),
            uid=str(told["uid"]),
            workload=WorkloadKey(namespace, str(told["workload"]), str(told["kind"])),
            origin=str(told["from"]),
            target=str(told["to"]),
            gain=float(told["predictedGain"]),
            unit=str(told["unit"]),
            before=None if told.get("costBefore") is None else float(told["costBefore"]),
            outcome=Outcome(told["outcome"]),
            landed=str(told.get("landed", "")),
            measured=None if told.get("measuredGain") is None else float(told["measuredGain"]),
            surge=bool(told.get("surge", False)),
            detail=str(told.get("detail", "")),
            plan=parse_time(told["plan"]) if told.get("plan") else 0.0,
        )
    except (KeyError, TypeError, ValueError, InputError):
        return None


@dataclass(frozen=True, slots=True)
class Breaker:
    """Closed while `until` lies in the past; every trip waits twice as long as the one before."""

    until: float = 0.0
    trips: int = 0
    why: str = ""
    judged: float = 0.0
    """Moves up to this time have been counted already."""

    def open(self, now: float) -> bool:
        return now < self.until

    def judge(self, moves: Iterable[Move], now: float) -> Breaker:
        finished = [each for each in moves if each.at > self.judged and each.outcome is not Outcome.STARTED]
        finished = [each for each in finished if each.outcome not in (Outcome.REFUSED, Outcome.UNDONE)]
        last = finished[-TRIP_AFTER:]
        if len(last) == TRIP_AFTER and all(each.disappointed for each in last):
            wait = min(LONGEST_BREAK_SECONDS, FIRST_BREAK_SECONDS * 2.0**self.trips)
            failed = sum(each.outcome is Outcome.NOT_READY for each in last)
            why = (
                f"{failed} of the last {len(last)} replacements did not become ready"
                if failed
                else f"the measured cost rose after the last {len(last)} moves, which promised a gain"
            )
            return Breaker(now + wait, min(MOST_TRIPS, self.trips + 1), why, judged=last[-1].at)
        if self.trips and len(finished) >= TRIP_AFTER and not any(each.disappointed for each in last):
            return replace(self, trips=0, why="")
        return self


@dataclass
class History:
    """What is remembered of one application."""

    moves: list[Move] = field(default_factory=list)
    breaker: Breaker = field(default_factory=Breaker)
    memory: dict[str, object] = field(default_factory=dict)
    plan_at: float = 0.0
    """When the plan in the memory began, to the second, as the status shows it."""
    plan_start: plans.Counts = field(default_factory=dict)
    """Where the pods of the workloads that it moves were then."""
    _plans: tuple[plans.MovePlan, ...] = ()
    """Those of the memory, read once."""

    def remember(self, memory: Mapping[str, object], *, at: float) -> None:
        """What the policy wants to find in its next round.

        A plan that is replaced by another before it ended has brought nothing by itself: the two count as one.
        """
        if not plans.under_way(self.memory):
            self.plan_at, self.plan_start = max(float(int(at)), self.plan_at + 1.0), {}
        self._plans = tuple(plans.read(memory))
        for each in self._plans:
            self.plan_start = {**each.start, **self.plan_start}
        self.memory = dict(memory)

    def plan_with(self, uid: str) -> plans.MovePlan | None:
        """The plan under way that asked this pod to go."""
        return next((each for each in self._plans if uid in each.issued), None)

    def to_measure(self) -> list[Move]:
        """The moves of the plan that has just ended, if all of them have; nobody has measured them yet."""
        if plans.under_way(self.memory) or not self.plan_start:
            return []
        made = [each for each in self.moves if each.plan == self.plan_at and each.outcome is not Outcome.REFUSED]
        return [] if any(each.outcome is Outcome.STARTED for each in made) else made

    def add(self, move: Move) -> None:
        self.moves.append(move)
        first = len(self.moves) - KEPT
        if move.plan:
            first = min([first, *(number for number, each in enumerate(self.moves) if each.plan == move.plan)])
        del self.moves[: max(0, first, len(self.moves) - MOST_KEPT)]

    def replace(self, old: Move, new: Move) -> None:
        self.moves = [new if each is old else each for each in self.moves]

    @property
    def under_way(self) -> list[Move]:
        return [each for each in self.moves if each.outcome is Outcome.STARTED]

    def last_moves(self) -> dict[WorkloadKey, float]:
        found: dict[WorkloadKey, float] = {}
        for each in self.moves:
            if each.outcome is not Outcome.REFUSED:
                found[each.workload] = max(each.at, found.get(each.workload, 0.0))
        return found

    def status(self) -> dict[str, Any]:
        breaker = self.breaker
        return {
            "moves": [as_status(each) for each in self.moves],
            "breaker": {
                "trips": breaker.trips,
                "message": breaker.why,
                **({"until": time_text(breaker.until)} if breaker.until else {}),
                **({"judged": time_text(breaker.judged)} if breaker.judged else {}),
            },
        }

    @classmethod
    def of(cls, status: Any, *, namespace: str) -> History:
        """What the AppGroup's status says; what cannot be read is left out."""
        if not isinstance(status, dict):
            return cls()
        written, breaker = status.get("moves"), status.get("breaker")
        moves = [from_status(each, namespace=namespace) for each in (written if isinstance(written, list) else [])]
        if not isinstance(breaker, dict):
            breaker = {}
        try:
            told = Breaker(
                until=read_time(breaker["until"]) if breaker.get("until") else 0.0,
                trips=max(0, min(MOST_TRIPS, int(breaker.get("trips", 0)))),
                why=str(breaker.get("message", "")),
                judged=read_time(breaker["judged"]) if breaker.get("judged") else 0.0,
            )
        except (KeyError, TypeError, ValueError, InputError):
            told = Breaker()
        return cls([each for each in moves if each is not None][-MOST_KEPT:], told)
