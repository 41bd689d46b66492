"""What a round sees that may move nothing: where the load of its applications has been going.

Plans are made for the flows of the next measurement (`rates`), judged by the last two. A round that is held back, by a pause, a
window or an objective that is met, notes them all the same: else the first round that may move again would compare the
figures of now with those of hours ago, and take a change that was over long ago for the first half of one.
"""

from __future__ import annotations

from collections.abc import Mapping

from ecotone.descheduling.plans.complete_counts import CompleteCounts
from ecotone.descheduling.plans.rates import Rates
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.descheduler import PLANS, DeschedulerSettings
from ecotone.scheduling.response.graph import applications


def looked_at(snapshot: Snapshot, settings: DeschedulerSettings) -> Mapping[str, object]:
    """The memory with the flows of now, if the rule is one that wants to know them."""
    if PLANS.rule not in (settings.rule, settings.args.get("then")):
        return snapshot.memory
    state = ClusterState.of(snapshot)
    rates = Rates(state)
    counts = CompleteCounts(state.memory, now=state.now, reach=settings.reach)
    around = None if settings.only is None else {(key.namespace, key.name) for key in settings.only}
    for application in applications(state, around=around):
        rates.note(application)
        counts.note(application)
    return counts.write(rates.write(snapshot.memory))
