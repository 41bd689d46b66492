"""What a profile says about moving running pods: by which rule, how eager and how careful.

The rules themselves stand in higher layers, so here they are names (`rule`), found through the registry like plugins and
solvers. Every rule comes with settings of its own, from which a profile starts; the limits mean the same under every rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ecotone.model.objects import Pod, WorkloadKey
from ecotone.scheduling.profiles.use import Use
from ecotone.scheduling.response.budget import EVALUATIONS

SingleReplicas = Literal["never", "surge", "evict"]
SINGLE_REPLICAS: tuple[SingleReplicas, ...] = ("never", "surge", "evict")


@dataclass(frozen=True, slots=True)
class DeschedulerSettings:
    """Times are seconds; `min_gain` is in the unit of the profile's objective.

    `single_replicas`: what is done about a workload's only ready pod: nothing, a replacement first, or an eviction like
    any other; moving it takes `last_replica_gain` instead of `min_relative_gain`. `max_group` pods may move together in
    one run if the whole application gains `group_gain`; 0 switches that off. `max_moves` None: no limit. `windows`: when
    moves are allowed, see `windows`. `budget`: how much a round may look at for an application, in placements times workloads
    times nodes; then the best so far is taken. `rescue_after`: for how long a node is not ready until its pods are replaced,
    None: as long as Kubernetes waits. `scheduler_names`: whose pods are moved; None: everybody's. `score` and
    `queue_sort`: what running pods are judged by, and in which order they are looked at, where that is not what the profile
    places pods by. `args` are the rule's own. `stays`: why a pod is not to be moved, for reasons that whoever carries the moves
    out knows and the snapshot does not. `only`: the workloads that are looked at, when everything else stays anyway, so that a
    round about one application does not go through the whole cluster. `told`: is told of workloads that stay by a decision
    about their whole application, and why. `unmeasured`: is told of figures that a move rests on and nobody has measured;
    moves then do not wait for them. `reach`: how far back figures of CPU use reach from the moment they are read, 0 if they are
    of that moment; whoever reads them knows. None of these five is ever part of a profile.
    """

    rule: str = "best-gain"
    min_gain: float = 1.0
    min_relative_gain: float = 0.1
    last_replica_gain: float = 0.2
    single_replicas: SingleReplicas = "evict"
    cool_down: float = 60.0
    no_return: float = 300.0
    min_pod_age: float = 0.0
    max_moves: int | None = 5
    max_group: int = 16
    group_gain: float = 0.2
    reserve_for: float = 120.0
    budget: int = EVALUATIONS
    rescue_after: float | None = None
    windows: tuple[str, ...] = ()
    local_storage: bool = False
    volume_claims: bool = False
    resource_claims: bool = False
    scheduler_names: frozenset[str] | None = None
    score: tuple[Use, ...] = ()
    queue_sort: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    stays: Callable[[Pod], str | None] | None = None
    only: frozenset[WorkloadKey] | None = None
    told: Callable[[WorkloadKey, str], None] | None = None
    unmeasured: Callable[[Sequence[str]], None] | None = None
    reach: float = 0.0


BEST_GAIN = DeschedulerSettings()
# Single replicas by surge, whole applications as plans; `group_gain` is what a plan must save.
PLANS = DeschedulerSettings(rule="plans", single_replicas="surge", last_replica_gain=0.1, group_gain=0.1, max_group=500)
# Thesis 4.6 knows no threshold, cool-down, limit or reservation.
THESIS = DeschedulerSettings(
    rule="thesis",
    min_gain=0.0,
    min_relative_gain=0.0,
    last_replica_gain=0.0,
    cool_down=0.0,
    no_return=0.0,
    max_moves=None,
    max_group=0,
    group_gain=0.0,
    reserve_for=0.0,
)
# KubeDSM knows no threshold or cool-down either. It moves a service's only pod too: here after its replacement has started.
SUGGESTIONS = DeschedulerSettings(
    rule="kubedsm",
    min_gain=0.0,
    min_relative_gain=0.0,
    last_replica_gain=0.0,
    single_replicas="surge",
    cool_down=0.0,
    no_return=0.0,
    max_moves=None,
    max_group=0,
    group_gain=0.0,
)
# QoS targets first, where workloads carry any; then, and where none does, plans.
TARGETS = replace(PLANS, rule="targets", args={"then": PLANS.rule})
