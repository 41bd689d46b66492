"""`deschedule(snapshot, policy)`: evictions that are worth it, each with its target and gain.

The thesis' rule walks the pods in queue order and moves whatever scores higher elsewhere. Ours takes the best move first,
plays it forward, and looks again, until nothing is worth its disruption: the gain must beat an absolute and a relative
threshold, budgets and cool-downs must allow it, a recent move is not undone, and every accepted move holds its capacity at
the target for the moves that follow.
"""

from __future__ import annotations

from ecotone.descheduling.appraisal import Appraisal, appraise
from ecotone.descheduling.eligibility import why_not
from ecotone.descheduling.ledger import Ledger
from ecotone.descheduling.room import rooms
from ecotone.descheduling.settings import Settings, settings_for
from ecotone.descheduling.together import GroupMove, group_moves
from ecotone.model.decisions import Decisions, Evict
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cost
from ecotone.scheduling.policies import Policy, resolve
from ecotone.scheduling.reservations import Reservations


def deschedule(snapshot: Snapshot, policy: Policy, settings: Settings | None = None) -> Decisions:
    """Moves that pay off now, in the order they should be made, and what to remember of them."""
    profile = resolve(policy)
    chosen = settings or settings_for(policy)
    if chosen is None or profile.solver is not None:
        return Decisions(())
    run = _Run(framework_of(profile), ClusterState.of(snapshot), chosen)
    return run.thesis() if chosen.thesis else run.ours()


class _Run:
    def __init__(self, framework: Framework, state: ClusterState, settings: Settings) -> None:
        self.framework = framework
        self.state = state
        self.settings = settings
        self.ledger = Ledger(state, settings)
        self.moves: list[Evict] = []
        Reservations(state)  # what earlier moves hold is not free for new ones

    def thesis(self) -> Decisions:
        """Thesis 4.5: lower index first; a node that scores higher is enough; one pod of a Deployment per run."""
        pods = self.framework.order(self.state, self._movable())
        for pod in pods:
            if self.ledger.forbids(pod) is None:
                appraisal = appraise(self.framework, self.state, pod)
                if appraisal is not None:
                    self._accept(appraisal)
        return Decisions(tuple(self.moves), self.ledger.memory())

    def ours(self) -> Decisions:
        self._move_a_group()
        while len(self.moves) < self.settings.max_moves:
            best = max(self._worthwhile(), key=lambda each: (each.gain, each.pod.key), default=None)
            if best is None:
                break
            self._accept(best)
        if not self.moves:
            self._make_room()
        return Decisions(tuple(self.moves), self.ledger.memory())

    def _make_room(self) -> None:
        """Nobody can go where he would be better off: perhaps somebody stands there who would lose less."""
        chosen = self.settings
        if not self._judges_applications():
            return
        pods = [pod for pod in self._movable() if pod.ready and self.ledger.forbids(pod) is None]
        gain = 2 * chosen.min_gain
        for room in rooms(self.framework, self.state, pods, relative_gain=chosen.group_gain, gain=gain):
            guest, comer = room.guest, room.comer
            if self.ledger.returns(guest, room.target) or self.ledger.returns(comer, guest.node or ""):
                continue
            why = (
                f"makes room on {guest.node} for {comer.kind.workload.name}: a request costs {room.there:.4g} ms instead of "
                f"{room.here:.4g} ms when that has moved there"
            )
            self.moves.append(Evict(guest.key, guest.node or "", room.target, room.gain, "ms", why, uid=guest.uid))
            self.ledger.accept(guest)
            return

    def _judges_applications(self) -> bool:
        """Whether the policy's score is a cost in ms, and more than one pod may be thought of at once."""
        scorers = self.framework.scorers
        ours = len(scorers) == 1 and isinstance(scorers[0].plugin, Cost)
        return ours and not self.settings.protect_last_replica and self.settings.max_group > 0

    def _move_a_group(self) -> None:
        """A chain that settled in the wrong place goes together or not at all; those left are then asked one by one."""
        chosen = self.settings
        if not self._judges_applications():
            return
        pods = [pod for pod in self._movable() if pod.ready and self.ledger.forbids(pod) is None]
        for move in group_moves(self.framework, self.state, pods):
            if move.relative_gain < chosen.group_gain or move.gain < chosen.min_gain * len(move.pods):
                return
            if len(move.pods) <= chosen.max_group and not any(
                self.ledger.returns(pod, move.target) for pod in move.pods
            ):
                self._accept_group(move)
                return

    def _accept_group(self, move: GroupMove) -> None:
        why = (
            f"moves with {len(move.pods) - 1} others to {move.target}: a request costs {move.there:.4g} ms instead of "
            f"{move.here:.4g} ms"
        )
        for pod in move.pods:
            gain = move.gain / len(move.pods)
            self.moves.append(Evict(pod.key, pod.node or "", move.target, gain, "ms", why, uid=pod.uid))
            self.ledger.accept(pod)
            self.state.lift(pod.key)
            self.state.assume(pod, move.target)

    def _movable(self) -> list[Pod]:
        return [pod for pod in self.state.usage.pods() if why_not(self.state, pod, self.settings) is None]

    def _worthwhile(self) -> list[Appraisal]:
        """Replicas of one kind on one node are the same question: it is asked once."""
        found = []
        asked = set()
        for pod in self._movable():
            if (pod.kind, pod.node) in asked or not pod.ready or self.ledger.forbids(pod) is not None:
                continue
            asked.add((pod.kind, pod.node))
            appraisal = appraise(self.framework, self.state, pod)
            if appraisal is not None and self._pays(appraisal):
                found.append(appraisal)
        return found

    def _pays(self, appraisal: Appraisal) -> bool:
        last = self._ready_replicas(appraisal.pod) <= 1
        if last and self.settings.protect_last_replica:
            return False
        relative = self.settings.last_replica_gain if last else self.settings.min_relative_gain
        return (
            appraisal.gain >= self.settings.min_gain
            and appraisal.relative_gain >= relative
            and not self.ledger.returns(appraisal.pod, appraisal.target)
        )

    def _ready_replicas(self, pod: Pod) -> int:
        """Pods of the workload that answer, wherever they are."""
        workload = pod.kind.workload
        kinds = self.state.named.get((workload.namespace, workload.name), ())
        rows = {row for kind in kinds for row in self.state.usage.placed.get(kind, {})}
        there = [each for row in rows for each in self.state.usage.pods_on[row]]
        return sum(each.ready and not each.deleting and each.kind.workload == workload for each in there)

    def _accept(self, appraisal: Appraisal) -> None:
        pod, unit = appraisal.pod, appraisal.unit
        why = (
            f"costs {appraisal.here:.4g} {unit} on {pod.node} and {appraisal.there:.4g} {unit} on {appraisal.target}: "
            f"{appraisal.relative_gain:.0%} less"
        )
        self.moves.append(Evict(pod.key, pod.node or "", appraisal.target, appraisal.gain, unit, why, uid=pod.uid))
        self.ledger.accept(pod)
        self.state.lift(pod.key)
        self.state.assume(pod, appraisal.target)
