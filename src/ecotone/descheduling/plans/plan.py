"""A plan: which pods of which workloads go where, in stages, and what is remembered of it between rounds.

Plans are written into the policy's memory as plain values (lists, strings, numbers), since memories are kept in files and
annotations as well as in processes. What cannot be read back is no plan: a memory from elsewhere is never an error.

What a plan may do is known when it begins and only ever becomes less: each step evicts one pod, once; only pods that stood
at its origins then may go, so none that it brought; and after its deadline it asks for nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

from ecotone.descheduling.grounds import Grounds
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.scheduling.redundancy.choice import GIVEN_UP

MEMORY = "plans"
CUT = "the best that the search's budget allowed to find"
ENDED = "plans ended"
DONE = "done"

Counts = dict[WorkloadKey, dict[str, int]]
Leaving = dict[WorkloadKey, dict[str, tuple[str, ...]]]
"""Uids of the pods that may go, by workload and origin."""


@dataclass(frozen=True, slots=True)
class Step:
    """One pod of a workload goes from one node to another; with `surge` its replacement comes first."""

    workload: WorkloadKey
    origin: str
    target: str
    surge: bool = False


@dataclass(frozen=True, slots=True)
class Rescue:
    """A waiting pod, by its key, that fits nowhere as things are, and the node that will take it after the plan."""

    pod: str
    node: str


Stages = tuple[tuple[Step, ...], ...]


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Stages follow each other as soon as the replacements of the one before are Ready.

    `start`: pods per workload and node when it began, or when it was last judged; `leaving`: which pods may go; `issued`: the
    pods asked to go, each with the number of its step; `begun` and `deadline`: the time in which it may ask; `here` and
    `there`: milliseconds per request before and after; `excess`: what the way costs, in ms x s; `grounds`: what was known of
    the distances that make the difference; `rescue`: the pod that the others make way for, in a plan that is not made for
    milliseconds; `anew`: a replacement landed elsewhere, and what was left of the plan was judged once more;
    `cut`: the search for it reached its budget; `gives_up`: workloads that end closer together than they should.
    """

    stages: Stages
    start: Counts = field(hash=False)
    here: float
    there: float
    excess: float
    order: str
    begun: float
    deadline: float
    leaving: Leaving = field(hash=False)
    issued: Mapping[str, int] = field(default_factory=dict, hash=False)
    safe: bool = True
    grounds: Grounds | None = field(default=None, hash=False)
    rescue: Rescue | None = None
    anew: bool = False
    cut: bool = False
    gives_up: tuple[str, ...] = ()

    @classmethod
    def beginning(
        cls, stages: Stages, pods: Mapping[WorkloadKey, Sequence[Pod]], *, at: float, limit: float, here: float = 0.0,
        there: float = 0.0, excess: float = 0.0, order: str = "", safe: bool = True, grounds: Grounds | None = None,
        rescue: Rescue | None = None,
    ) -> MovePlan:  # fmt: skip
        """A plan that begins now with these pods where they are, and may take `limit` seconds for each stage."""
        start: Counts = {}
        leaving: Leaving = {}
        for step in (step for stage in stages for step in stage):
            nodes = [pod.node or "" for pod in pods[step.workload]]
            start[step.workload] = {node: nodes.count(node) for node in sorted(set(nodes))}
            there_now = tuple(pod.uid for pod in pods[step.workload] if pod.node == step.origin)
            leaving.setdefault(step.workload, {}).setdefault(step.origin, there_now)
        return cls(
            stages, start, here, there, excess, order, begun=at, deadline=at + len(stages) * limit, leaving=leaving,
            safe=safe, grounds=grounds, rescue=rescue,
        )  # fmt: skip

    @property
    def steps(self) -> tuple[Step, ...]:
        """All of them, in order: their numbers are places in this."""
        return tuple(step for stage in self.stages for step in stage)

    @property
    def workloads(self) -> set[WorkloadKey]:
        return {step.workload for step in self.steps}

    @property
    def gain(self) -> float:
        return self.here - self.there

    @property
    def pods(self) -> int:
        return sum(len(stage) for stage in self.stages)

    def issuing(self, asked: Mapping[str, int]) -> MovePlan:
        """With these pods asked to go, each for the step of this number."""
        return replace(self, issued={**self.issued, **asked}) if asked else self

    def left_from(self, now: Counts, there: Collection[str]) -> MovePlan:
        """The steps that nobody was asked for, from where the pods are now; neither its time nor its evictions grow.

        `there`: the uids of those that are still where they were.
        """
        done = set(self.issued.values())
        free = {
            workload: {
                node: tuple(uid for uid in uids if uid in there and uid not in self.issued)
                for node, uids in nodes.items()
            }
            for workload, nodes in self.leaving.items()
        }
        room = Counter(
            {(workload, node): len(uids) for workload, nodes in free.items() for node, uids in nodes.items()}
        )
        stages, number = [], -1
        for stage in self.stages:
            left = []
            for step in stage:
                number += 1
                if number not in done and room[step.workload, step.origin] > 0:
                    room[step.workload, step.origin] -= 1
                    left.append(step)
            stages.append(tuple(left))
        moving = {step.workload for stage in stages for step in stage}
        start = {workload: counts for workload, counts in now.items() if workload in moving}
        leaving = {workload: nodes for workload, nodes in free.items() if workload in moving}
        kept = tuple(stage for stage in stages if stage)
        return replace(self, stages=kept, start=start, leaving=leaving, issued={}, anew=True)

    def why(self, step: Step) -> str:
        others = len(self.workloads) - 1
        group = f" with {others} other workload{'s' if others > 1 else ''}" if others else ""
        if self.rescue is not None:
            way = f"makes way{group}: {self.rescue.pod}, which fits nowhere now, can then run on {self.rescue.node}"
            return f"{way}; {GIVEN_UP}: else it would not run" if str(step.workload) in self.gives_up else way
        unsafe = "" if self.safe else "; on the way requests take longer than now"
        cut = f"; {CUT}" if self.cut else ""
        return (
            f"moves{group} to {step.target}: a request costs {self.there:.4g} ms instead of {self.here:.4g} ms "
            f"({self.order}, {len(self.stages)} stage{'s' if len(self.stages) > 1 else ''}{unsafe}{cut})"
        )

    def to_memory(self) -> dict[str, object]:
        return {
            "stages": [
                [[*_key(step.workload), step.origin, step.target, step.surge] for step in stage]
                for stage in self.stages
            ],
            "start": [[*_key(workload), dict(counts)] for workload, counts in self.start.items()],
            "here": self.here,
            "there": self.there,
            "excess": self.excess,
            "order": self.order,
            "begun": self.begun,
            "deadline": self.deadline,
            "leaving": [
                [*_key(workload), {node: list(uids) for node, uids in nodes.items()}]
                for workload, nodes in self.leaving.items()
            ],
            "issued": dict(self.issued),
            "safe": self.safe,
            "anew": self.anew,
            **({} if self.grounds is None else {"grounds": self.grounds.to_memory()}),
            **({"cut": True} if self.cut else {}),
            **({"gives up": list(self.gives_up)} if self.gives_up else {}),
            **({} if self.rescue is None else {"rescue": [self.rescue.pod, self.rescue.node]}),
        }


def _key(workload: WorkloadKey) -> tuple[str, str, str]:
    return workload.namespace, workload.name, workload.kind


def read(memory: Mapping[str, object]) -> list[MovePlan]:
    """The plans under way, as far as they can be understood."""
    written = memory.get(MEMORY)
    found = []
    for each in written if isinstance(written, list | tuple) else ():
        try:
            found.append(_read(each))
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
            continue
    return found


def _read(given: Mapping[str, Any]) -> MovePlan:
    plan = MovePlan(
        stages=tuple(
            tuple(
                Step(WorkloadKey(str(namespace), str(name), str(kind)), str(origin), str(target), bool(surge))
                for namespace, name, kind, origin, target, surge in stage
            )
            for stage in given["stages"]
        ),
        start={
            WorkloadKey(str(namespace), str(name), str(kind)): {str(node): int(count) for node, count in counts.items()}
            for namespace, name, kind, counts in given["start"]
        },
        here=float(given["here"]),
        there=float(given["there"]),
        excess=float(given["excess"]),
        order=str(given["order"]),
        begun=float(given["begun"]),
        deadline=float(given["deadline"]),
        leaving={
            WorkloadKey(str(namespace), str(name), str(kind)): {
                str(node): tuple(str(uid) for uid in uids) for node, uids in nodes.items()
            }
            for namespace, name, kind, nodes in given["leaving"]
        },
        issued={str(uid): int(number) for uid, number in given["issued"].items()},
        safe=bool(given["safe"]),
        grounds=Grounds.read(given.get("grounds")),
        rescue=_rescue(given.get("rescue")),
        anew=bool(given["anew"]),
        cut=bool(given.get("cut", False)),
        gives_up=tuple(str(name) for name in given.get("gives up", ())),
    )
    if not _sound(plan):
        raise ValueError("not a plan that was written here")
    return plan


def _sound(plan: MovePlan) -> bool:
    """Whatever follows a plan relies on this."""
    numbers = list(plan.issued.values())
    return (
        isfinite(plan.begun)
        and isfinite(plan.deadline)
        and plan.workloads <= plan.start.keys()
        and len(set(numbers)) == len(numbers)
        and all(0 <= number < plan.pods for number in numbers)
    )


def _rescue(given: object) -> Rescue | None:
    match given:
        case [str() as pod, str() as node]:
            return Rescue(pod, node)
    return None


def write(memory: Mapping[str, object], plans: Iterable[MovePlan]) -> dict[str, object]:
    """The memory with these plans in place of those it had."""
    return {**memory, MEMORY: [plan.to_memory() for plan in plans]}


@dataclass(frozen=True, slots=True)
class Ended:
    """A plan that ended in a round, and why."""

    workloads: tuple[str, ...]
    why: str

    @classmethod
    def of(cls, plan: MovePlan, why: str) -> Ended:
        return cls(tuple(sorted(str(workload) for workload in plan.workloads)), why)


def write_ended(memory: Mapping[str, object], ended: Sequence[Ended]) -> dict[str, object]:
    """The memory with what ended in this round; a memory that never knew of any stays as it is."""
    if not ended and ENDED not in memory:
        return dict(memory)
    return {**memory, ENDED: [[list(plan.workloads), plan.why] for plan in ended]}


def read_ended(memory: Mapping[str, object]) -> list[Ended]:
    written = memory.get(ENDED)
    found = []
    for given in written if isinstance(written, list | tuple) else ():
        match given:
            case [list() | tuple() as workloads, str() as why]:
                found.append(Ended(tuple(str(workload) for workload in workloads), why))
    return found


def under_way(memory: Mapping[str, object]) -> bool:
    """True if a plan waits for its replacements: the next round should come as soon as they are Ready."""
    return bool(memory.get(MEMORY))
