"""Why a pod stays that would be better off elsewhere.

A person who sees in an explanation that another node is better, and in the plan that nothing happens, wants to know which
setting, budget, cool-down or decision about a whole application is in the way. Every running pod is judged alone, by the
same costs as the rule; of those that a better node is found for and that do not move, the first reason in the order in
which a run checks them is told. What a rule decides about whole applications it tells itself, while it decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.descheduling.appraisal import Appraisal, appraise
from ecotone.descheduling.eligibility import why_not
from ecotone.descheduling.run import Run
from ecotone.model.decisions import Evict
from ecotone.model.objects import Pod, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles.descheduler import BEST_GAIN, DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.profiles.windows import is_open


@dataclass(frozen=True, slots=True)
class Stay:
    """`better`: the node where the pod, judged alone, would cost `gain` less, in `unit`."""

    pod: str
    node: str
    better: str
    gain: float
    unit: str
    why: str

    def __str__(self) -> str:
        return f"{self.pod} stays on {self.node}, {self.gain:.4g} {self.unit} better on {self.better}: {self.why}"

    def as_document(self) -> dict[str, Any]:
        return {
            "pod": self.pod,
            "node": self.node,
            "better": self.better,
            "gain": self.gain,
            "unit": self.unit,
            "why": self.why,
        }


def staying(
    snapshot: Snapshot, profile: Profile, moves: Sequence[Evict], told: Mapping[WorkloadKey, str]
) -> list[Stay]:
    """All of them in the order of their names. `moves` are those of this run; `told` is what the rule said of workloads."""
    if profile.solver is not None:
        return []
    judge = _Judge(snapshot, profile, moves, told)
    return [stay for pod in sorted(judge.pods(), key=lambda each: each.key) if (stay := judge.about(pod)) is not None]


class _Judge:
    def __init__(
        self, snapshot: Snapshot, profile: Profile, moves: Sequence[Evict], told: Mapping[WorkloadKey, str]
    ) -> None:
        self._settings = profile.descheduler
        self._told = told
        self._moves = moves
        settings = profile.descheduler or BEST_GAIN
        self._now = Run(snapshot, profile, settings)
        self._later = Run(snapshot, profile, settings)
        self._asked: dict[tuple[object, str | None, bool], Appraisal | None] = {}
        for each in moves:
            pod = self._later.state.lift(each.pod)
            if pod is not None:
                self._later.ledger.accept(pod, disrupts=not each.surge)
                self._later.state.assume(pod, each.target)

    def pods(self) -> list[Pod]:
        gone = {each.pod for each in self._moves}
        return [pod for pod in self._now.state.usage.pods() if pod.key not in gone and not pod.terminal]

    def about(self, pod: Pod) -> Stay | None:
        found = self._appraised(pod, later=False)
        if found is None:
            return None
        return Stay(pod.key, pod.node or "", found.target, found.gain, found.unit, self._why(pod, found))

    def _appraised(self, pod: Pod, *, later: bool) -> Appraisal | None:
        """Replicas of one kind on one node are the same question: it is asked once."""
        key = (pod.kind, pod.node, later)
        if key not in self._asked:
            run = self._later if later else self._now
            self._asked[key] = appraise(run.framework, run.state, pod)
        return self._asked[key]

    def _why(self, pod: Pod, found: Appraisal) -> str:
        settings = self._settings
        if settings is None:
            return "its policy has no descheduler"
        if not is_open(settings.windows, self._now.state.now):
            return f"moves are made in the windows {', '.join(settings.windows)} only"
        reason = why_not(self._now.state, pod, settings) or self._now.ledger.forbids(pod)
        if reason is not None:
            return reason
        if not pod.ready:
            return "it is not Ready"
        told = self._told.get(pod.kind.workload)
        return told or self._now.why_not_worth(found) or self._afterwards(pod, settings)

    def _afterwards(self, pod: Pod, settings: DeschedulerSettings) -> str:
        """The reasons that only this run's own moves bring."""
        count = len(self._moves)
        others = f"the {count} moves of this run are" if count > 1 else "the one move of this run is"
        later = self._appraised(pod, later=True) if self._moves else None
        if self._moves and later is None:
            return f"once {others} made, its place is the best"
        if later is not None and (small := self._later.why_not_worth(later)) is not None:
            return f"once {others} made, {small}"
        reason = self._later.ledger.forbids(pod)
        if reason is not None:
            return reason
        if settings.max_moves is not None and count >= settings.max_moves:
            return f"maxMovesPerRun {settings.max_moves} is reached"
        return f"the rule {settings.rule!r} did not choose it in this run"
