"""A plan: every decision a policy would take now, and what the cluster would be like after it.

Waiting pods first, then, if asked, the running ones that would be better off elsewhere, judged on the cluster as the binds
leave it. Nothing is changed: the command line prints a plan, an executor carries it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.descheduling import deschedule, settings_for
from ecotone.model.decisions import Bind, Decision, Evict, Preempt, Wait
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import decide
from ecotone.scheduling.objective import figures
from ecotone.scheduling.policies import Policy, resolve
from ecotone.scheduling.profile import Profile

_POGONIP = ("pogonip", "pogonip-opt", "pogonip-greedy", "pogonip-plugins")


@dataclass(frozen=True, slots=True)
class Plan:
    policy: str
    decisions: tuple[Decision, ...]
    objective: dict[str, Any]
    notes: tuple[str, ...] = ()


def make_plan(snapshot: Snapshot, policy: Policy, *, moves: bool = False, namespace: str | None = None) -> Plan:
    """`namespace` limits whose pods are decided on; all others still take room and are talked to."""
    profile = resolve(policy)
    mine = [pod for pod in snapshot.pending.values() if namespace in (None, pod.namespace)]
    decisions = list(decide(snapshot, profile, pods=mine).decisions)
    notes: list[str] = []
    if moves:
        after = played(snapshot, decisions).freeze()
        new = {each.pod for each in decisions if isinstance(each, Bind)}
        found = deschedule(after, profile).decisions
        decisions += [
            each
            for each in found
            if each.pod not in new and (namespace is None or each.pod.startswith(f"{namespace}/"))
        ]
        if settings_for(profile) is None:
            notes.append(f"policy {profile.name} has no descheduler: nothing that runs is moved")
    return Plan(profile.name, tuple(decisions), _objective(snapshot, profile, decisions), tuple(notes))


def played(snapshot: Snapshot, decisions: Sequence[Decision]) -> ClusterState:
    """The cluster after the decisions, as if all of them had been carried out."""
    state = ClusterState.of(snapshot)
    for each in decisions:
        if isinstance(each, Bind):
            state.assume(state.pending[each.pod], each.node)
        elif isinstance(each, Evict):
            pod = state.lift(each.pod)
            if pod is not None:
                state.assume(pod, each.target)
        elif isinstance(each, Preempt):
            for victim in each.victims:
                state.drop_pod(victim)
            state.assume(state.pending[each.pod], each.node)
    return state


def _objective(snapshot: Snapshot, profile: Profile, decisions: Sequence[Decision]) -> dict[str, Any]:
    if (profile.name if profile.solver is None else profile.solver.name) in _POGONIP:
        # Brings SciPy along, which takes longer to load than most plans take to make.
        from ecotone.placement import policy as pogonip

        return pogonip.objective(snapshot, decisions)
    return {"before": figures(ClusterState.of(snapshot)), "after": figures(played(snapshot, decisions))}


def plan_document(plan: Plan) -> dict[str, Any]:
    """The shape that `ecotone plan -o json` prints."""
    return {
        "policy": plan.policy,
        "decisions": [_decision(each) for each in plan.decisions],
        "objective": plan.objective,
    }


def _decision(decision: Decision) -> dict[str, Any]:
    match decision:
        case Bind(pod=pod, node=node, why=why):
            return {"action": "bind", "pod": pod, "node": node, "why": why}
        case Evict(pod=pod, origin=origin, target=target, gain=gain, unit=unit, why=why):
            return {
                "action": "evict",
                "pod": pod,
                "from": origin,
                "to": target,
                "gain": gain,
                "unit": unit,
                "why": why,
            }
        case Preempt(pod=pod, node=node, victims=victims, why=why):
            return {"action": "preempt", "pod": pod, "node": node, "victims": list(victims), "why": why}
        case Wait(pod=pod, why=why):
            return {"action": "wait", "pod": pod, "why": why}
