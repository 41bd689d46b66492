"""How eager and how careful the descheduler is, and which rule belongs to which policy."""

from __future__ import annotations

from dataclasses import dataclass

from ecotone.scheduling.policies import Policy, resolve


@dataclass(frozen=True, slots=True)
class Settings:
    """`thesis`: any node that scores higher is reason enough, one pod of a workload per run. Otherwise our rule, with
    every limit below in force. Times are seconds; `min_gain` is in the policy's own unit. `max_group` pods may move together,
    in one run, if the whole application gains `group_gain`; 0 switches that off.
    """

    thesis: bool = False
    min_relative_gain: float = 0.1
    min_gain: float = 1.0
    last_replica_gain: float = 0.2
    protect_last_replica: bool = False
    cool_down: float = 60.0
    no_return: float = 300.0
    min_pod_age: float = 0.0
    max_moves: int = 5
    max_group: int = 16
    group_gain: float = 0.2
    reserve_for: float = 120.0
    local_storage: bool = False
    volume_claims: bool = False
    resource_claims: bool = False
    ours: frozenset[str] | None = None


THESIS = Settings(thesis=True)
OURS = Settings()
_THESIS_POLICIES = frozenset({"sophos", "sophos-dag"})


def settings_for(policy: Policy) -> Settings | None:
    """The descheduler that goes with a policy: the thesis' for Sophos, ours for `ecotone`, none for schedulers without."""
    name = resolve(policy).name
    if name in _THESIS_POLICIES:
        return THESIS
    return OURS if name == "ecotone" else None
