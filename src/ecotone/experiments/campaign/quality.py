"""Whether our policies keep what they promise beside published ones and the best static placement, and the table that says so.

Published policies and the bound know nothing of redundancy, so `ecotone-fast`, which does not either, is held against them.
`ecotone` stands beside it: the difference is what redundancy costs.

Works on stored figures, scenario by scenario, so that documentation can be held against them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ecotone.experiments.campaign.best_static.bound import NAME as BOUND

PUBLISHED = ("kube-default", "sophos", "sophos-dag", "communication-aware", "netmarks", "nas")
ON_THEIR_OWN = {
    "kubedsm": ("kubedsm",),
    "pogonip": ("pogonip", "pogonip-opt"),
}  # scenarios of a paper: its policies too
OURS, FAST = "ecotone", "ecotone-fast"
MEAN, P95, SETTLED = 1.02, 1.10, 1.10  # at most so many times the best published one's, and the bound's

Figures = dict[str, dict[str, Any]]  # policy -> its figures in one scenario


def published_for(scenario: str) -> tuple[str, ...]:
    """The published policies that a scenario is run with."""
    return (*PUBLISHED, *ON_THEIR_OWN.get(scenario.partition("-")[0], ()))


def verdict(found: Figures) -> str:
    """`holds`, or which of the promises are missed."""
    fast, bound = found[FAST], found[BOUND]
    promises = {
        "mean": fast["mean_ms"] <= MEAN * best_published(found, "mean_ms"),
        "p95": fast["p95_ms"] <= P95 * best_published(found, "p95_ms"),
        "bound": fast["settled_mean_ms"] <= SETTLED * bound["settled_mean_ms"],
        "failures": found[OURS]["failed_by_moves"] == fast["failed_by_moves"] == 0,
    }
    missed = [name for name, holds in promises.items() if not holds]
    return "misses " + ", ".join(missed) if missed else "holds"


def best_published(found: Figures, figure: str) -> float:
    """The least of those who answered: a policy that left pods without a node has none."""
    values = [each[figure] for policy, each in found.items() if policy not in (OURS, FAST, BOUND)]
    return min(float(each) for each in values if each is not None)


def quality_table(results: Path) -> str:
    """In Markdown, a line for each scenario of the file."""
    rows = [
        "| scenario | best published mean | p95 | fast mean | p95 | settled | bound, settled | failed | moves | "
        "ecotone mean | p95 | failed | moves | |"
    ]
    rows.append("|" + "---|" * 14)
    for name, found in json.loads(results.read_text(encoding="utf-8")).items():
        fast, ours = found[FAST], found[OURS]
        figures = [
            best_published(found, "mean_ms"), best_published(found, "p95_ms"), fast["mean_ms"], fast["p95_ms"],
            fast["settled_mean_ms"], found[BOUND]["settled_mean_ms"],
        ]  # fmt: skip
        cells = [name, *(_ms(figure) for figure in figures), str(fast["failed"]), str(fast["moves"])]
        cells += [_ms(ours["mean_ms"]), _ms(ours["p95_ms"]), str(ours["failed"]), str(ours["moves"]), verdict(found)]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def _ms(figure: float) -> str:
    return f"{figure:.1f}"
