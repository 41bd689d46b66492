"""Policies that decide alike share one run.

What happens in a run depends on what is decided, not on who decides it. In published evaluations several policies often come to
the same placement and stay with it, and requests are by far the dearest part of a run. So one policy leads, and the others are
asked the same questions, each with a memory of its own. Whoever ever answers otherwise has taken another way and needs a
run of its own; for whoever never does, this run is its run, down to the last digit. Only the reasons differ, and those are
kept for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ecotone.descheduling.plans import under_way
from ecotone.descheduling.steps import plan_in
from ecotone.model import Bind, Decision, Decisions, Evict, Preempt, Snapshot
from ecotone.model.decisions import DeletionCost
from ecotone.sim.control.orchestration import Orchestrator

Question = Callable[[Orchestrator, Snapshot], Decisions]
Act = tuple[str | bool | int | tuple[str, ...], ...]


def going_on(memory: Mapping[str, object]) -> bool:
    """True if moves are under way, so that the next round comes as soon as one of them has ended."""
    return under_way(memory) or bool(plan_in(memory).steps)


@dataclass(slots=True, eq=False)
class _Follower:
    policy: Orchestrator
    memory: dict[str, object] = field(default_factory=dict)
    reasons: dict[tuple[float, str], str] = field(default_factory=dict)

    def agrees(self, snapshot: Snapshot, question: Question, acts: Sequence[Act], leader: Orchestrator) -> bool:
        answer = question(self.policy, replace(snapshot, memory=dict(self.memory)))
        self.memory.update(answer.memory)
        self.reasons.update(
            ((snapshot.now, each.pod), each.why) for each in answer.decisions if isinstance(each, Bind | Evict)
        )
        reserving = self.policy.reserves_for == leader.reserves_for or not any(act[0] == "evict" for act in acts)
        return reserving and _acts(answer.decisions) == acts


class Alike:
    """An orchestrator that is several: the first decides, the rest are compared with it."""

    def __init__(self, policies: Sequence[Orchestrator]) -> None:
        self._leader, *others = policies
        self._followers = {number: _Follower(each) for number, each in enumerate(others, start=1)}

    @property
    def name(self) -> str:
        return self._leader.name

    @property
    def reserves_for(self) -> float:
        return self._leader.reserves_for

    @property
    def agreed(self) -> list[int]:
        """Which of the policies given, the leader first, have decided alike so far."""
        return [0, *self._followers]

    def reasons(self, number: int) -> Mapping[tuple[float, str], str]:
        """Why that follower decided what it did, by time and pod (with its namespace)."""
        return self._followers[number].reasons

    def schedule(self, snapshot: Snapshot) -> Decisions:
        return self._ask(snapshot, lambda policy, seen: policy.schedule(seen))

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        return self._ask(snapshot, lambda policy, seen: policy.deschedule(seen))

    def _ask(self, snapshot: Snapshot, question: Question) -> Decisions:
        answer = question(self._leader, snapshot)
        acts = _acts(answer.decisions)
        more = going_on({**snapshot.memory, **answer.memory})
        self._followers = {
            number: each
            for number, each in self._followers.items()
            if each.agrees(snapshot, question, acts, self._leader) and going_on(each.memory) == more
        }
        return answer


def _acts(decisions: Sequence[Decision]) -> list[Act]:
    """What is carried out of decisions, in their order; to wait is to do nothing."""
    found: list[Act] = []
    for each in decisions:
        match each:
            case Bind(pod=pod, node=node):
                found.append(("bind", pod, node))
            case Evict(pod=pod, target=target, surge=surge):
                found.append(("evict", pod, target, surge))
            case Preempt(victims=victims):
                found.append(("preempt", victims))
            case DeletionCost(pod=pod, cost=cost):
                found.append(("deletion-cost", pod, cost))
    return found
