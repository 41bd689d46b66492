"""The policy `kubedsm`: binds for the pods that wait, and a rule of descheduling that carries suggestions out.

Waiting pods are taken in the order they came, a batch at a time. A pod that replaces one the policy moved goes to the place
reserved for it. The rule keeps a plan in the policy's memory (`descheduling.steps`): while steps of it are left nothing new
is suggested, as in the paper, where a suggestion follows the end of the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.descheduling.eligibility import why_not
from ecotone.descheduling.steps import MEMORY, Step, StepPlan, plan_in, under_way
from ecotone.model.decisions import Bind, Decision, Decisions, Wait
from ecotone.model.objects import Pod, Reservation
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.placement.kubedsm.algorithms.immediate import immediate_schedule
from ecotone.placement.kubedsm.algorithms.suggest import suggest
from ecotone.placement.kubedsm.carry_out import begin, eviction, move_of
from ecotone.placement.kubedsm.cluster import Binding, Cluster
from ecotone.placement.kubedsm.configuration import Configuration, configuration
from ecotone.placement.kubedsm.from_snapshot import Reading, read
from ecotone.placement.kubedsm.quality import quality_of
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile


def kubedsm(snapshot: Snapshot, waiting: Sequence[Pod], **args: Any) -> Decisions:
    """Binds for all waiting pods; `args` as in `configuration`."""
    chosen = configuration(args)
    gated = [pod for pod in waiting if pod.spec.gates]
    queue = sorted((pod for pod in waiting if not pod.spec.gates), key=_turn)
    decisions: list[Decision] = [Wait(pod.key, "waits for its scheduling gates", uid=pod.uid) for pod in gated]
    state = ClusterState.of(snapshot)
    kept, rest = _claims(snapshot, queue)
    for pod, held in kept:
        reading = read(snapshot, [pod], chosen, reservations=rest)
        if reading.cluster.fits(_row(reading, pod), snapshot.nodes.index[held.node]):
            decisions.append(Bind(pod.key, held.node, f"takes the place reserved for it by {held.name}", uid=pod.uid))
            state.assume(pod, held.node)
            snapshot = state.freeze()
            queue.remove(pod)
    for start in range(0, len(queue), chosen.parameters.batch):
        batch = queue[start : start + chosen.parameters.batch]
        for decision in _batch(read(snapshot, batch, chosen, reservations=rest), chosen):
            decisions.append(decision)
            if isinstance(decision, Bind):
                state.assume(state.pending[decision.pod], decision.node)
        snapshot = state.freeze()
    return Decisions(tuple(decisions), snapshot.memory)


def _turn(pod: Pod) -> tuple[int, float, str]:
    return -pod.spec.priority, pod.created, pod.key


def _row(reading: Reading, pod: Pod) -> int:
    return reading.population.kinds.index(pod.kind)


def _claims(snapshot: Snapshot, queue: Sequence[Pod]) -> tuple[list[tuple[Pod, Reservation]], list[Reservation]]:
    """Waiting pods with the nodes reserved for them, and the reservations that no waiting pod claims."""
    free = [
        each
        for each in snapshot.reservations
        if each.expires > snapshot.now and not each.taken_by and each.node in snapshot.nodes.index
    ]
    kept: list[tuple[Pod, Reservation]] = []
    for pod in queue:
        fitting = (e for e in free if e.workload == pod.kind.workload and e.template_hash in ("", pod.template_hash))
        held = next(fitting, None)
        if held is not None:
            free.remove(held)
            kept.append((pod, held))
    return kept, free


def _batch(reading: Reading, chosen: Configuration) -> list[Decision]:
    cluster, found = reading.cluster, reading.population
    decision, bindings = immediate_schedule(cluster, chosen.parameters)
    left_over = [list(pods) for pods in found.waiting]
    decisions: list[Decision] = []
    for binding in bindings:
        pod = left_over[binding.service].pop(0)
        decisions.append(
            Bind(pod.key, cluster.nodes[binding.target].name, _why(cluster, binding, decision.after), uid=pod.uid)
        )
    for pods in left_over:
        decisions += [Wait(pod.key, "fits no edge node and no cloud node", uid=pod.uid) for pod in pods]
    return decisions


def _why(cluster: Cluster, binding: Binding, quality: float) -> str:
    service, node = cluster.services[binding.service], cluster.nodes[binding.target]
    side = "edge" if node.edge else "cloud"
    return f"{side}: {service.share:.0%} of {service.name} is promised to the edge; QoS of the batch {quality:.4g}"


def suggestions(snapshot: Snapshot, profile: Profile, settings: DeschedulerSettings) -> Decisions:
    """The rule: steps of the plan in memory that can begin now, or those of a new suggestion."""
    args = {} if profile.solver is None else profile.solver.args
    chosen = configuration({"protectLastReplica": settings.single_replicas == "never", **args})
    state = ClusterState.of(snapshot)

    def stays(pod: Pod) -> bool:
        return not pod.ready or why_not(state, pod, settings) is not None

    reading = read(snapshot, (), chosen, stays=stays)
    plan = plan_in(snapshot.memory)
    if plan.steps and not _stands(plan, reading, snapshot, chosen):
        plan = StepPlan()
    if not plan.steps:
        if under_way(snapshot, settings.only):
            return Decisions((), {**snapshot.memory, MEMORY: StepPlan().as_memory()})
        plan = _suggested(reading, snapshot, chosen)
    begun = begin(plan, reading, snapshot, settings)
    if not begun and not under_way(snapshot, settings.only):
        plan = StepPlan()  # somebody took the room that a step was waiting for
    remaining = plan.after([step for step, _, _ in begun])
    moves = tuple(eviction(pod, step, plan, unit="QoS", surge=surge) for step, pod, surge in begun)
    return Decisions(moves, {**snapshot.memory, MEMORY: remaining.as_memory()})


def _suggested(reading: Reading, snapshot: Snapshot, chosen: Configuration) -> StepPlan:
    cluster = reading.cluster
    moves = suggest(cluster, chosen.parameters)
    quality = chosen.parameters.quality
    gain = quality_of(cluster.after(moves), quality) - quality_of(cluster, quality) if moves else 0.0
    steps = tuple(
        Step(cluster.services[each.service].name, cluster.nodes[each.origin].name, cluster.nodes[each.target].name)
        for each in moves
    )
    return StepPlan(steps, snapshot.now, gain, len(steps))


def _stands(plan: StepPlan, reading: Reading, snapshot: Snapshot, chosen: Configuration) -> bool:
    """True if what is left of the plan is still possible and still raises QoS."""
    if snapshot.now - plan.since > chosen.plan_seconds:
        return False
    now = reading.cluster
    before = quality_of(now, chosen.parameters.quality)
    for step in plan.steps:
        move = move_of(step, now)
        if move is None or not now.allowed[move.service, move.target]:
            return False
        now = now.after([move])
    return quality_of(now, chosen.parameters.quality) > before
