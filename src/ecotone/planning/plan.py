"""A plan: every decision a policy would take now, and what the cluster would be like after it.

Waiting pods first, then, if asked, the running ones that would be better off elsewhere, judged on the cluster as the binds
leave it. Nothing is changed: the command line prints a plan, an executor carries it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ecotone.descheduling import deschedule
from ecotone.descheduling.missing import LONGEST, listed
from ecotone.descheduling.staying import Stay, staying
from ecotone.model.decisions import Bind, Decision, Evict, as_document
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.planning.advice import Advice, advice
from ecotone.planning.price import Price
from ecotone.planning.redundancy import Change, spread_of, warnings_of
from ecotone.planning.reports import ended, played
from ecotone.planning.response import response_ms
from ecotone.planning.survival import Survival, survival_of
from ecotone.scheduling.decide import decide, framework_of
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.policies import Policy, resolve
from ecotone.scheduling.profiles.profile import Profile


@dataclass(frozen=True, slots=True)
class Plan:
    policy: str
    decisions: tuple[Decision, ...]
    objective: dict[str, Any]
    notes: tuple[str, ...] = ()
    advice: tuple[Advice, ...] = ()
    stays: tuple[Stay, ...] = ()
    moves: bool = False
    warnings: tuple[str, ...] = ()
    redundancy: Mapping[str, Mapping[str, Change]] = field(default_factory=dict)
    survival: Survival | None = None
    response: Mapping[str, float | None] = field(default_factory=dict)
    prices: tuple[Price, ...] = ()


def make_plan(snapshot: Snapshot, policy: Policy, *, moves: bool = False, namespace: str | None = None) -> Plan:
    """`namespace` limits whose pods are decided on; all others still take room and are talked to."""
    profile = resolve(policy)
    mine = [pod for pod in snapshot.pending.values() if namespace in (None, pod.namespace)]
    decisions = list(decide(snapshot, profile, pods=mine).decisions)
    notes: list[str] = []
    told: list[Advice] = []
    stays: list[Stay] = []
    prices: list[Price] = []
    memory: Mapping[str, object] = {}
    if moves:
        bound = played(snapshot, decisions).freeze()
        new = {each.pod for each in decisions if isinstance(each, Bind)}
        kept: dict[WorkloadKey, str] = {}
        unmeasured: dict[str, None] = {}
        found, memory = deschedule(bound, profile, _telling(profile, kept, unmeasured))
        decisions += [
            each
            for each in found
            if each.pod not in new and (namespace is None or each.pod.startswith(f"{namespace}/"))
        ]
        stays = [
            each
            for each in staying(bound, profile, [each for each in found if isinstance(each, Evict)], kept)
            if each.pod not in new and (namespace is None or each.pod.startswith(f"{namespace}/"))
        ]
        advised = advice(ended(snapshot, decisions, memory, namespace=namespace).freeze(), profile)
        told = [each for each in advised.found if each.concerns(namespace)]
        prices = [each for each in advised.prices if namespace in (None, each.application.partition("/")[0])]
        if unmeasured and any(isinstance(each, Evict) for each in decisions):
            rest = f"moves rest on figures that nobody has measured: {listed(list(unmeasured))}"
            notes.append(f"{rest}; a descheduler at work waits for them first, {LONGEST:.0f} s at most")
        if profile.descheduler is None:
            notes.append(f"policy {profile.name} has no descheduler: nothing that runs is moved")
    # Found by name when needed: the figures of some policies bring SciPy along, which loads slower than most plans.
    report = registry.find_report(profile.objective.report)
    now, after = ClusterState.of(snapshot), ended(snapshot, decisions, memory, namespace=namespace)
    framework = framework_of(profile)
    return Plan(
        profile.name,
        tuple(decisions),
        report(snapshot, decisions),
        tuple(notes),
        tuple(told),
        tuple(stays),
        moves,
        warnings=tuple(warnings_of(after, decisions, namespace=namespace)) if framework.keeps_redundancy else (),
        redundancy=spread_of(now, after, namespace=namespace),
        survival=survival_of(after, lateness=framework.lateness, unawaited=framework.unawaited, namespace=namespace),
        response=response_ms(now, after, framework),
        prices=tuple(prices),
    )


def _telling(profile: Profile, kept: dict[WorkloadKey, str], unmeasured: dict[str, None]) -> DeschedulerSettings | None:
    """The profile's settings for somebody who wants to know: what stays and why, and what moves rest on unmeasured."""
    if profile.descheduler is None:
        return None

    def note(names: Sequence[str]) -> None:
        unmeasured.update(dict.fromkeys(names))

    return replace(profile.descheduler, told=kept.__setitem__, unmeasured=note)


def plan_document(plan: Plan) -> dict[str, Any]:
    """The shape that `ecotone plan -o json` prints."""
    return {
        "policy": plan.policy,
        "decisions": [as_document(each) for each in plan.decisions],
        "objective": plan.objective,
        **({"stays": [each.as_document() for each in plan.stays]} if plan.moves else {}),
        "warnings": list(plan.warnings),
        "redundancy": {
            name: {what: list(pair) for what, pair in each.items()} for name, each in plan.redundancy.items()
        },
        "survives": None if plan.survival is None else plan.survival.as_document(),
        "response_ms": {
            when: None if mean is None else {"mean": mean, "low": None, "high": None}
            for when, mean in plan.response.items()
        },
        **({"redundancyCosts": [each.as_document() for each in plan.prices]} if plan.prices else {}),
        **({"advice": [each.as_document() for each in plan.advice]} if plan.advice else {}),
    }
