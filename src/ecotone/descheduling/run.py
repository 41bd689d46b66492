"""One run of the descheduler: a working copy of the cluster, what may still be spent, and the moves accepted so far.

What every rule shares: which pods may move at all, whether a gain is worth a move, and that an accepted move holds its
capacity at the target for the moves that follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cached_property
from math import inf

from ecotone.descheduling.appraisal import Appraisal
from ecotone.descheduling.eligibility import budgets_of, why_not
from ecotone.descheduling.grounds import Grounds, heard, ways_of_pod
from ecotone.descheduling.ledger import Ledger
from ecotone.descheduling.missing import Missing, unmeasured
from ecotone.model.decisions import Decisions, Evict
from ecotone.model.members import pods_of, pods_of_each
from ecotone.model.objects import Pod, PodKind, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.redundancy.choice import misses_one
from ecotone.scheduling.reservations import Reservations


class Run:
    def __init__(self, snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings) -> None:
        self.framework = framework_of(profile).judge(score=settings.score, queue_sort=settings.queue_sort)
        self.state = ClusterState.of(snapshot)
        self.settings = settings
        self.ledger = Ledger(self.state, settings)
        self.missing = Missing(self.state, settings.unmeasured)
        self.moves: list[Evict] = []
        Reservations(self.state, share=None)  # what earlier moves hold is not free for new ones

    @property
    def full(self) -> bool:
        """True if this run may move nothing more."""
        return self.settings.max_moves is not None and len(self.moves) >= self.settings.max_moves

    def decisions(self) -> Decisions:
        return Decisions(tuple(self.moves), self.memory())

    def memory(self) -> dict[str, object]:
        return self.missing.write(self.ledger.memory())

    def movable(self, *, without: Collection[WorkloadKey] = ()) -> list[Pod]:
        """Of the workloads that this run is about; it may leave out some of these."""
        only = self.settings.only
        if only is None:
            return [pod for pod in self.state.usage.pods() if self.may_move(pod)]
        found = pods_of_each(self.state, only - set(without))
        return [pod for key in sorted(found) for pod in found[key] if self.may_move(pod)]

    def pods_of(self, workload: WorkloadKey) -> list[Pod]:
        return pods_of(self.state, workload)

    def may_move(self, pod: Pod) -> bool:
        return why_not(self.state, pod, self.settings) is None

    def spare(self, pods: list[Pod]) -> int:
        """How many of these, the pods of one workload, may go at a time: budgets allow it, and one is left."""
        allowed = [self.ledger.allowed(budget) for pod in pods[:1] for budget in budgets_of(self.state, pod)]
        return max(0, min([len(pods) - 1, *allowed]))

    def pays(self, appraisal: Appraisal) -> bool:
        return self.why_not_worth(appraisal) is None

    def why_not_worth(self, appraisal: Appraisal) -> str | None:
        """The setting that a gain does not meet, or None."""
        settings, gain, unit = self.settings, appraisal.gain, appraisal.unit
        last = self._ready_replicas(appraisal.pod) <= 1
        if last and settings.single_replicas == "never":
            return "it is the only Ready pod of its workload, and singleReplicas is never"
        if gain < settings.min_gain:
            return f"it would gain {gain:.4g} {unit}, less than minGain {settings.min_gain:g}"
        name, relative = (
            ("lastReplicaGain", settings.last_replica_gain) if last else ("minRelativeGain", settings.min_relative_gain)
        )
        if appraisal.relative_gain < relative:
            return f"it would gain {appraisal.relative_gain:.2%} of its cost, less than {name} {relative:g}"
        if self.ledger.returns(appraisal.pod, appraisal.target):
            return f"its workload left {appraisal.target} less than noReturnSeconds {settings.no_return:g} ago"
        return None

    def waits_for(self, appraisal: Appraisal) -> str | None:
        """Which figures the gain of one pod's move rests on that may still come, or change by themselves."""
        if self._rests_on_a_start(appraisal):
            return "CPU figures of its node may still show its application's start"
        if self.framework.cost is None or not self.state.network.anything_known:
            return None
        pod = appraisal.pod
        ways = ways_of_pod(self.state, pod, appraisal.target)
        unknown = [pair for pair, ms in ways.items() if ms is None]
        mates = unmeasured(self.state, self.mates([pod.kind]))
        return self.missing.waits_for(unknown, mates) if unknown or mates else None

    def _rests_on_a_start(self, appraisal: Appraisal) -> bool:
        """True if the move would not pay but for CPU that its node may have used to start pods of its application."""
        if appraisal.waiting <= 0.0 or self.pays(replace(appraisal, here=appraisal.here - appraisal.waiting)):
            return False
        pod = appraisal.pod
        own = [each for mate in sorted(self.mates([pod.kind])) for each in self.pods_of(mate)]
        return self.started_lately([each for each in own if each.node == pod.node])

    def started_lately(self, pods: Iterable[Pod], *, startup: float = 0.0) -> bool:
        """True if one of them became ready, or should have, so lately that CPU figures may be of its start.

        That is as far back as figures reach, and at least a cool-down: small nodes take their time to start many pods.
        """
        lately = self.state.now - max(self.settings.cool_down, self.settings.reach)
        return any(_started(pod, startup) > lately for pod in pods)

    def mates(self, kinds: Iterable[PodKind]) -> set[WorkloadKey]:
        """The workloads of these and all others of their app-groups; what runs on every node by itself does not count."""
        found: set[WorkloadKey] = set()
        for kind in kinds:
            found |= {kind.workload} | self._members.get((kind.namespace, kind.app_group), set())
        return {each for each in found if each.kind != "DaemonSet"}

    @cached_property
    def _members(self) -> dict[tuple[str, str | None], set[WorkloadKey]]:
        """By app-group."""
        found: dict[tuple[str, str | None], set[WorkloadKey]] = {}
        for kind in self.kinds():
            if kind.app_group:
                found.setdefault((kind.namespace, kind.app_group), set()).add(kind.workload)
        return found

    def kinds(self) -> Iterable[PodKind]:
        """Of all pods that this run is about."""
        only, named = self.settings.only, self.state.named
        if only is None:
            return self.state.kind_counts
        return [kind for key in only for kind in named.get((key.namespace, key.name), ())]

    def unheard(self, kinds: Iterable[PodKind]) -> frozenset[WorkloadKey]:
        """Those of their mates of whose traffic nothing is known now."""
        return frozenset(each for each in self.mates(kinds) if not heard(self.state, each))

    def tell(self, workloads: Iterable[WorkloadKey], why: str) -> None:
        """Why these stay as they are, for whoever asks."""
        if self.settings.told is not None:
            for each in workloads:
                self.settings.told(each, why)

    def _ready_replicas(self, pod: Pod) -> int:
        """Pods of the workload that answer, wherever they are."""
        return sum(each.ready and not each.deleting for each in self.pods_of(pod.kind.workload))

    def needed_meanwhile(self, pod: Pod) -> bool:
        """True if nobody serves while the pod is replaced, or those that do are too close together for their number."""
        if self._ready_replicas(pod) <= 1:
            return True
        if not self.framework.keeps_redundancy:
            return False
        self.state.lift(pod.key)
        try:
            return misses_one(self.state, pod.kind)
        finally:
            self.state.put_pod(pod)

    def accept(self, appraisal: Appraisal, *, forward: bool = True) -> None:
        """`forward`: the pod counts at its target from now on."""
        pod, gain, unit = appraisal.pod, appraisal.gain, appraisal.unit
        surge = self.settings.single_replicas == "surge" and self.needed_meanwhile(pod)
        self.moves.append(
            Evict(pod.key, pod.node or "", appraisal.target, gain, unit, appraisal.sentence(), uid=pod.uid, surge=surge)
        )
        ways = ways_of_pod(self.state, pod, appraisal.target)
        self.ledger.accept(pod, grounds=Grounds(ways, self.unheard([pod.kind])))
        if forward:
            self.state.lift(pod.key)
            self.state.assume(pod, appraisal.target)


def _started(pod: Pod, startup: float) -> float:
    if pod.ready_at is not None:
        return pod.ready_at
    return -inf if pod.bound_at is None else pod.bound_at + startup
