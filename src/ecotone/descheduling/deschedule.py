"""`deschedule(snapshot, policy)`: evictions that are worth it, each with its target and gain.

What is worth it is the business of the rule that the policy's profile names; see `thesis` and `best_gain`.
"""

from __future__ import annotations

from ecotone.model.decisions import Decisions
from ecotone.model.snapshot import Snapshot
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.policies import Policy, resolve
from ecotone.scheduling.profiles.windows import is_open


def deschedule(snapshot: Snapshot, policy: Policy, settings: DeschedulerSettings | None = None) -> Decisions:
    """Moves that pay off now, in the order they should be made, and what to remember of them.

    `settings` replace the profile's own; a profile without any moves nothing.
    """
    profile = resolve(policy)
    chosen = settings or profile.descheduler
    if chosen is None or not is_open(chosen.windows, snapshot.now):
        return Decisions(())
    rule = registry.find_rule(chosen.rule)
    return rule(snapshot, profile, chosen, **dict(chosen.args))
