"""The best single move first, played forward, until nothing more is worth its disruption.

The gain must beat an absolute and a relative threshold and rest on figures that are known, or have been waited for; budgets
and cool-downs must allow it, a recent move is not undone, and every accepted move holds its capacity at the target for the
moves that follow. A rule of its own, and what `plans` does about pods whose requests nobody counts.
"""

from __future__ import annotations

from collections.abc import Collection

from ecotone.descheduling.appraisal import Appraisal, appraise
from ecotone.descheduling.lost import replace_lost
from ecotone.descheduling.run import Run
from ecotone.model.decisions import Decisions
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile


def best_gain(snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings) -> Decisions:
    run = Run(snapshot, profile, settings)
    replace_lost(run)
    take_best_moves(run)
    return run.decisions()


def take_best_moves(run: Run, *, without: Collection[WorkloadKey] = ()) -> None:
    """Accepts single moves until the run is full or none pays; pods of these workloads stay."""
    while not run.full:
        best = max(_worthwhile(run, without), key=lambda each: (each.gain, each.pod.key), default=None)
        if best is None:
            return
        run.accept(best)


def _worthwhile(run: Run, without: Collection[WorkloadKey]) -> list[Appraisal]:
    """Replicas of one kind on one node are the same question: it is asked once."""
    found = []
    asked = set()
    for pod in run.movable(without=without):
        if pod.kind.workload in without or (pod.kind, pod.node) in asked:
            continue
        if not pod.ready or run.ledger.forbids(pod) is not None:
            continue
        asked.add((pod.kind, pod.node))
        appraisal = appraise(run.framework, run.state, pod)
        if appraisal is not None and run.pays(appraisal) and run.waits_for(appraisal) is None:
            found.append(appraisal)
    return found
