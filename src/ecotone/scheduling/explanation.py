"""Why a pod goes where it goes: every node's verdicts and figures, the winner, and one sentence about it.

The answer is the scheduler's own: the same evaluation that decides is asked to show its work. A pod that runs already is
judged as if it were removed first, like one that arrives now. A solver has no score per node; there, the filters are shown
and the solver's own reason stands as the sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ecotone.model.decisions import Bind, Preempt
from ecotone.model.errors import InputError, did_you_mean
from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import decide, framework_of
from ecotone.scheduling.evaluation import Evaluation, Term
from ecotone.scheduling.plugin import Account, Cycle, Describe
from ecotone.scheduling.profiles.policies import POLICIES, Policy, resolve
from ecotone.scheduling.profiles.profile import Profile
from ecotone.scheduling.redundancy.choice import choose_among_redundant
from ecotone.scheduling.reservations import Reservations
from ecotone.scheduling.winners import TIE


@dataclass(frozen=True, slots=True)
class TermView:
    """One scoring plugin on one node; `raw` is its published figure (None: unknown), `told` the same in human units.

    `account`: what that figure is made of, where a plugin says so.
    """

    raw: float | int | None
    normalized: float | int
    weight: float
    told: str | None = None
    account: str | None = None

    @property
    def share(self) -> float:
        return float(self.normalized) * self.weight


@dataclass(frozen=True, slots=True)
class NodeView:
    name: str
    feasible: bool
    reasons: tuple[str, ...] = ()
    scores: Mapping[str, TermView] = field(default_factory=dict)
    total: float | None = None
    tiebreak: float | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`nodes` are ranked: the winner, the others that fit by their totals, then those that do not fit by name."""

    pod: str
    policy: str
    node: str | None
    current: str | None
    why: str
    nodes: tuple[NodeView, ...]


def explain(snapshot: Snapshot, policy: Policy, key: str) -> Explanation:
    profile = resolve(policy)
    pod = snapshot.find_pod(key)
    if pod is None:
        near = did_you_mean(key, (each.key for each in snapshot.pods()))
        raise InputError(f"no pod {key!r} in the cluster", hint=near)
    state = ClusterState.of(snapshot)
    waiting = _as_waiting(state, pod)
    picture = state.freeze()
    decisions = decide(picture, profile, pods=None if profile.solver is not None else (waiting,)).decisions
    decision = next((each for each in decisions if each.pod == key), None)
    nodes = _nodes(ClusterState.of(picture), waiting, profile)
    chosen = decision.node if isinstance(decision, Bind) else None
    ranked = tuple(sorted(nodes, key=lambda each: _rank(each, chosen)))
    why = "the policy decides nothing about it" if decision is None else decision.why
    if isinstance(decision, Preempt):
        why = f"fits only on {decision.node} after preempting {', '.join(decision.victims)}: {decision.why}"
    elif chosen is not None and profile.solver is None:
        why = sentence(ranked, drawn=profile.tie_draw)
    return Explanation(key, profile.name, chosen, pod.node, why, ranked)


def _as_waiting(state: ClusterState, pod: Pod) -> Pod:
    if state.lift(pod.key) is None:
        state.drop_pod(pod.key)
    waiting = replace(pod, node=None, bound_at=None, ready=False, deleting=False, phase="Pending")
    state.put_pod(waiting)
    return waiting


def _rank(view: NodeView, chosen: str | None) -> tuple[Any, ...]:
    total = -np.inf if view.total is None else view.total
    return (not view.feasible, view.name != chosen, -total, view.name.encode())


def _nodes(state: ClusterState, pod: Pod, profile: Profile) -> list[NodeView]:
    solver = profile.solver is not None
    framework = framework_of(POLICIES["kube-default"] if solver else profile)
    gate = framework.refusal_at_the_gate(state, pod)
    if gate is not None:
        return [NodeView(name, False, (gate[1],)) for name in state.nodes.names]
    reservations = Reservations(state)
    reservations.claim(pod)
    evaluation = Evaluation(framework, Cycle(state, pod))
    if evaluation.refusal is None and not len(evaluation.feasible) and reservations.release(pod.spec.priority):
        evaluation = Evaluation(framework, Cycle(state, pod))
    choose_among_redundant(evaluation)
    if evaluation.refusal is not None:
        return [NodeView(name, False, (evaluation.refusal[1].reason,)) for name in state.nodes.names]
    reasons = _reasons(evaluation)
    places = {int(row): index for index, row in enumerate(evaluation.feasible)}
    views = []
    for row, name in enumerate(state.nodes.names):
        index = places.get(row)
        if index is None:
            views.append(NodeView(name, False, tuple(reasons.get(row, ("does not pass the filters",)))))
        elif solver:
            views.append(NodeView(name, True))
        else:
            views.append(_scored(evaluation, name=name, row=row, index=index))
    return views


def _reasons(evaluation: Evaluation) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for _, rejection in evaluation.rejections(first_only=False):
        for row in np.flatnonzero(rejection.mask).tolist():
            said = found.setdefault(row, [])
            if rejection.reason not in said:
                said.append(rejection.reason)
    return found


def _scored(evaluation: Evaluation, *, name: str, row: int, index: int) -> NodeView:
    scores = {}
    for term in evaluation.terms:
        view = _term(evaluation, term, row=row, index=index)
        if view is not None:
            scores[term.scorer.name] = view
    ties = evaluation.ties if evaluation.framework.tie_breakers else None
    return NodeView(
        name=name,
        feasible=True,
        scores=scores,
        total=float(sum(view.share for view in scores.values())),
        tiebreak=None if ties is None else float(evaluation.total(ties)[index]),
    )


def _term(evaluation: Evaluation, term: Term, *, row: int, index: int) -> TermView | None:
    if term.raw is None or term.normalized is None:
        return None
    plugin, raw = term.scorer.plugin, term.raw[row].item()
    told = plugin.describe(evaluation.cycle, row, float(raw)) if isinstance(plugin, Describe) else None
    account = plugin.account(evaluation.cycle, row, float(raw)) if isinstance(plugin, Account) else None
    return TermView(
        raw=raw if np.isfinite(raw) else None,
        normalized=term.normalized[index].item(),
        weight=term.scorer.weight,
        told=told,
        account=account,
    )


def sentence(ranked: tuple[NodeView, ...], *, drawn: bool = False) -> str:
    """Why the first of the ranked nodes won, against the runner-up; `drawn`: the policy draws among equals."""
    fitting = [each for each in ranked if each.feasible]
    winner = fitting[0]
    if len(fitting) == 1:
        others = f"one of {len(ranked)} nodes that fits" if len(ranked) > 1 else "node"
        return f"{winner.name} is the only {others}"
    second = fitting[1]
    if winner.total is None or second.total is None:
        return f"{winner.name} was chosen among {len(fitting)} nodes that fit"
    if winner.total < second.total * (1 - TIE):
        return f"{winner.name} is held for this pod, though {second.name} has the higher total"
    if winner.total - second.total <= TIE * abs(winner.total):
        return _tie(winner, [each for each in fitting[1:] if _ties(winner, each)], len(fitting), drawn=drawn)
    gains = {name: view.share - second.scores[name].share for name, view in winner.scores.items()}
    best = max(gains, key=lambda name: gains[name])
    told = f"{winner.name} beats {second.name} by {winner.total - second.total:.4g}: {best} gives it {gains[best]:.4g} more"
    told += _against(winner.scores[best], second.scores[best])
    worst = min(gains, key=lambda name: gains[name])
    if gains[worst] < 0:
        told += f", though {worst} gives it {-gains[worst]:.4g} less" + _against(
            winner.scores[worst], second.scores[worst]
        )
    return told


def _against(here: TermView, there: TermView) -> str:
    mine, theirs = here.account or here.told, there.account or there.told
    return f" ({mine}; there {theirs})" if mine and theirs and mine != theirs else ""


def _ties(one: NodeView, other: NodeView) -> bool:
    return other.total is not None and one.total is not None and one.total - other.total <= TIE * abs(one.total)


def _tie(winner: NodeView, tied: list[NodeView], fitting: int, *, drawn: bool) -> str:
    names = ", ".join(each.name for each in tied[:3]) + (f" and {len(tied) - 3} more" if len(tied) > 3 else "")
    start = f"{winner.name} ties with {names} of {fitting} nodes that fit; "
    if winner.tiebreak is not None:
        rivals = [each.tiebreak for each in tied if each.tiebreak is not None]
        if rivals and winner.tiebreak > max(rivals) + TIE * abs(winner.tiebreak):
            return f"{start}the default plugins break the tie ({winner.tiebreak:.4g} against {max(rivals):.4g})"
    return f"{start}{'the draw of this seed took it' if drawn else 'the first by name is taken'}"


def document(explanation: Explanation) -> dict[str, Any]:
    """The shape that `ecotone explain -o json` prints."""
    return {
        "pod": explanation.pod,
        "policy": explanation.policy,
        "node": explanation.node,
        "why": explanation.why,
        "nodes": [_node_document(view) for view in explanation.nodes],
        **({"current": explanation.current} if explanation.current is not None else {}),
    }


def _node_document(view: NodeView) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": view.name, "feasible": view.feasible, "reasons": list(view.reasons)}
    if not view.feasible:
        return shown
    shown["scores"] = {
        name: {"raw": term.raw, "normalized": term.normalized, "weight": term.weight}
        for name, term in view.scores.items()
    }
    shown["total"] = view.total
    told = {name: term.account or term.told for name, term in view.scores.items() if term.account or term.told}
    if told:
        shown["told"] = told
    if view.tiebreak is not None:
        shown["tiebreak"] = view.tiebreak
    return shown
