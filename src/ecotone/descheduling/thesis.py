"""The rule of the thesis (4.6): pods in queue order, and a node that scores higher is reason enough.

What is compared is algorithm 1 alone, without the default scores (the profile's `descheduler.score`), on the graphs as they
are when the run begins. At most one pod of a Deployment is evicted per run, and the scheduler alone decides where its
replacement goes: the target named here is only where the score is highest.

Ours, where the thesis says nothing: only nodes that pass the filters count; a pod is judged as if removed from its node; an
evicted pod stops being a peer of those judged after it, while the figures of nodes stay as they were; eligibility and
disruption budgets. With `forward` (ours too) an evicted pod counts at its target at once, as if it had arrived there.
"""

from __future__ import annotations

from dataclasses import replace

from ecotone.descheduling.appraisal import appraise
from ecotone.descheduling.run import Run
from ecotone.model.decisions import Decisions
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile


def thesis(snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings, *, forward: bool = False) -> Decisions:
    run = Run(snapshot, profile, settings)
    for pod in run.framework.order(run.state, run.movable()):
        if run.full:
            break
        if run.ledger.forbids(pod) is None:
            appraisal = appraise(run.framework, run.state, pod)
            if appraisal is not None and run.pays(appraisal):
                run.accept(appraisal, forward=forward)
                if not forward:
                    run.state.put_pod(replace(pod, deleting=True))
    return run.decisions()
