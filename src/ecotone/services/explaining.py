"""A decision in full: every node with its verdicts and terms, in the shape of ``explain -o json``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ecotone.model.objects import Pod
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.plugin import Cycle
from ecotone.scheduling.profile import Profile


def explain_record(profile: Profile, pod: Pod, view: Snapshot) -> dict[str, Any]:
    """What the policy saw when it decided about this pod."""
    if profile.solver is not None:
        return {"pod": pod.key, "policy": profile.name, "node": None, "nodes": []}
    evaluation = Evaluation(framework_of(profile), Cycle(ClusterState.of(view), pod))
    reasons = _reasons(evaluation)
    places = {int(row): place for place, row in enumerate(evaluation.feasible)}
    totals = evaluation.total() if places else np.zeros(0)
    nodes = []
    for row, name in enumerate(view.nodes.names):
        place = places.get(row)
        if place is None:
            nodes.append({"name": name, "feasible": False, "reasons": reasons.get(row, ["not feasible"])})
            continue
        scores = {
            term.scorer.name: {
                "raw": None if term.raw is None else float(term.raw[row]),
                "normalized": None if term.normalized is None else float(term.normalized[place]),
                "weight": float(term.scorer.weight),
            }
            for term in evaluation.terms
        }
        nodes.append({"name": name, "feasible": True, "reasons": [], "scores": scores, "total": float(totals[place])})
    best = evaluation.best() if places else None
    return {
        "pod": pod.key,
        "policy": profile.name,
        "node": None if best is None else view.nodes.names[best],
        "nodes": nodes,
    }


def _reasons(evaluation: Evaluation) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    if evaluation.refusal is not None:
        return {int(row): [evaluation.refusal[1].reason] for row in evaluation.rows}
    for _, rejection in evaluation.rejections():
        for row in np.flatnonzero(rejection.mask):
            found.setdefault(int(row), []).append(rejection.reason)
    return found
