"""A plan: which pods of which workloads go where, in stages, and what is remembered of it between rounds.

Plans are written into the policy's memory as plain values (lists, strings, numbers), since memories are kept in files and
annotations as well as in processes. What cannot be read back is no plan: a memory from elsewhere is never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ecotone.descheduling.grounds import Grounds
from ecotone.model.objects import WorkloadKey

MEMORY = "plans"
CUT = "the best that the search's budget allowed to find"

Counts = dict[WorkloadKey, dict[str, int]]


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


@dataclass(frozen=True, slots=True)
class MovePlan:
    """Stages follow each other as soon as the replacements of the one before are Ready.

    `start`: pods per workload and node when it began; `issued`: uids of the pods asked to go, and `since`, when the last of
    them was; `here` and `there`: milliseconds per request before and after; `excess`: what the way costs, in ms x s;
    `grounds`: what was known of the distances that make the difference; `rescue`: the pod that the others make way for, in
    a plan that is not made for milliseconds; `cut`: the search for it reached its budget.
    """

    stages: tuple[tuple[Step, ...], ...]
    start: Counts = field(hash=False)
    here: float
    there: float
    excess: float
    order: str
    since: float
    issued: frozenset[str] = frozenset()
    safe: bool = True
    grounds: Grounds | None = field(default=None, hash=False)
    rescue: Rescue | None = None
    cut: bool = False

    @property
    def workloads(self) -> set[WorkloadKey]:
        return {step.workload for stage in self.stages for step in stage}

    @property
    def gain(self) -> float:
        return self.here - self.there

    @property
    def pods(self) -> int:
        return sum(len(stage) for stage in self.stages)

    def issuing(self, uids: Iterable[str], *, at: float) -> MovePlan:
        new = frozenset(uids) - self.issued
        return replace(self, issued=self.issued | new, since=at) if new else self

    def why(self, step: Step) -> str:
        others = len(self.workloads) - 1
        group = f" with {others} other workload{'s' if others > 1 else ''}" if others else ""
        if self.rescue is not None:
            return f"makes way{group}: {self.rescue.pod}, which fits nowhere now, can then run on {self.rescue.node}"
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
            "since": self.since,
            "issued": sorted(self.issued),
            "safe": self.safe,
            **({} if self.grounds is None else {"grounds": self.grounds.to_memory()}),
            **({"cut": True} if self.cut else {}),
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
        except (KeyError, TypeError, ValueError):
            continue
    return found


def _read(given: Mapping[str, Any]) -> MovePlan:
    return MovePlan(
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
        since=float(given["since"]),
        issued=frozenset(str(uid) for uid in given["issued"]),
        safe=bool(given["safe"]),
        grounds=Grounds.read(given.get("grounds")),
        rescue=_rescue(given.get("rescue")),
        cut=bool(given.get("cut", False)),
    )


def _rescue(given: object) -> Rescue | None:
    match given:
        case [str() as pod, str() as node]:
            return Rescue(pod, node)
    return None


def write(memory: Mapping[str, object], plans: Iterable[MovePlan]) -> dict[str, object]:
    """The memory with these plans in place of those it had."""
    return {**memory, MEMORY: [plan.to_memory() for plan in plans]}


def under_way(memory: Mapping[str, object]) -> bool:
    """True if a plan waits for its replacements: the next round should come as soon as they are Ready."""
    return bool(memory.get(MEMORY))
