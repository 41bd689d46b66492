"""What running pods, and whole applications, cost where they are: the same figures that moves are decided by."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ecotone.descheduling.appraisal import cost_here
from ecotone.descheduling.plans.plan import Counts
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.model.workloads import Name
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.response.graph import applications
from ecotone.scheduling.response.prediction import Prediction


def pod_cost(snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings, pod: Pod) -> float | None:
    """In the unit of its policy; None if the pod runs nowhere, or where the policy's filters would no longer put it."""
    framework = framework_of(profile).judge(score=settings.score, queue_sort=settings.queue_sort)
    return cost_here(framework, ClusterState.of(snapshot), pod)


def request_cost(
    snapshot: Snapshot, profile: Profile, around: Collection[Name], *, instead: Counts | None = None
) -> float | None:
    """Milliseconds per request of a user in the application of these workloads, by what is measured now.

    With pods where they are, or, of the workloads in `instead`, where they would be. None if no user's requests are counted,
    or if a node is no longer there.
    """
    instead = instead or {}
    spent = rate = 0.0
    state = ClusterState.of(snapshot)
    nodes = sorted({node for counts in instead.values() for node in counts})
    framework = framework_of(profile)
    found = applications(
        state, around=around, beside=nodes, lateness=framework.lateness, unawaited=framework.unawaited
    )  # fmt: skip
    for application in found:
        counts = application.counts.astype(np.float64)
        place = {state.nodes.names[row]: number for number, row in enumerate(application.rows.tolist())}
        for number, kind in enumerate(application.kinds):
            given = instead.get(kind.workload)
            if given is not None:
                if not given.keys() <= place.keys():
                    return None
                counts[number] = 0.0
                for node, count in given.items():
                    counts[number, place[node]] = count
        spent += float(Prediction(application).cost(counts[np.newaxis])[0]) * application.rate
        rate += application.rate
    return spent / rate if rate else None
