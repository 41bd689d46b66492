"""From the figures of single trials to tables, ours beside the published ones.

Figures are plain data, so that a stored result gives the same tables as a fresh one: per scenario and policy a list of
measures, one for each trial, and what the exact placer reached on the same pods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from ecotone.experiments.campaign.registry import Cell, Table
from ecotone.experiments.campaign.statistics import interval95, mean, significant
from ecotone.experiments.kubedsm import published
from ecotone.experiments.kubedsm.measures import NAMES, Measures

Figures = Mapping[str, Any]

HEADER = (
    *("mean ms", "95 % interval", *(name.upper() for name in NAMES), "edge ratio", "utilisation", "fragmentation"),
    *("kept of achievable", "fairness", "migrations", "optimum ms", "response ms", "failed"),
)
AGAINST = (
    *("scenario", "policy", "published gain", "gain", "95 % interval", "over the exact placer"),
    *("migrations", "the placer's", "kept of achievable"),
)


def plain(row: Measures) -> dict[str, Any]:
    found = asdict(row)
    return {key: _short(value) for key, value in found.items()}


def _short(value: Any) -> Any:
    if isinstance(value, tuple):
        return [significant(each) for each in value]
    return significant(value) if isinstance(value, float) else value


def measures(figures: Figures, scenario: str, policy: str) -> list[Measures]:
    names = [each.name for each in fields(Measures)]
    rows = figures["scenarios"][scenario]["policies"][policy]
    return [Measures(**{**{name: row[name] for name in names}, "latency": tuple(row["latency"])}) for row in rows]


def compared(figures: Figures) -> list[Table]:
    """Every policy's figures; and the two that move pods against kube-default and the exact placer."""
    rows: list[list[Cell]] = []
    against: list[list[Cell]] = []
    for scenario, found in figures["scenarios"].items():
        for policy in found["policies"]:
            theirs = published.LATENCY.get(policy, {}).get(scenario)
            rows.append([scenario, policy, _middle(theirs), *row_of(measures(figures, scenario, policy))])
        against += [_against(figures, scenario, policy) for policy in ("kubedsm", "ecotone")]
    return [
        Table("Counted latency and figures", ("scenario", "policy", "published", *HEADER), rows),
        Table("Against kube-default, and against an exact placer that may move one pod every 15 s", AGAINST, against),
        published_table(list(figures["scenarios"])),
    ]


def varied(figures: Figures) -> Table:
    rows: list[list[Cell]] = []
    for scenario, found in figures["scenarios"].items():
        for policy in found["policies"]:
            theirs = published.VARIANTS[scenario].get(policy)
            rows.append([scenario, policy, _middle(theirs), *row_of(measures(figures, scenario, policy))])
    return Table("Counted latency and figures per variant", ("scenario", "variant", "published", *HEADER), rows)


def published_table(scenarios: Sequence[str]) -> Table:
    """What was published of each policy, in the units of ours."""
    rows: list[list[Cell]] = []
    for scenario in scenarios:
        for policy, found in published.LATENCY.items():
            ratio, used = published.EDGE_RATIO[policy][scenario]
            kept, best = published.KEPT[scenario] if policy == "kubedsm" else (None, None)
            rows.append([scenario, policy, _middle(found[scenario]), *found[scenario], ratio, used, kept, best])
    services = (name.upper() for name in NAMES)
    header = (
        "scenario",
        "policy",
        "mean ms",
        *services,
        "edge ratio",
        "utilisation",
        "kept of achievable",
        "optimum ms",
    )
    return Table("Published", header, rows)


def row_of(row: Sequence[Measures]) -> list[Cell]:
    found = interval95([each.mean_latency for each in row])
    return [
        rounded(mean([each.mean_latency for each in row])),
        None if found is None else f"{found[0]:.1f} to {found[1]:.1f}",
        *(rounded(mean([each.latency[index] for each in row])) for index in range(len(NAMES))),
        *(
            rounded(mean([getattr(each, name) for each in row]), 3)
            for name in ("edge_ratio", "utilisation", "fragmentation", "satisfied", "fairness")
        ),
        rounded(mean([float(each.migrations) for each in row])),
        rounded(mean([each.optimum for each in row])),
        rounded(mean([each.response_ms or 0.0 for each in row])),
        sum(each.failed for each in row),
    ]


def _against(figures: Figures, scenario: str, policy: str) -> list[Cell]:
    base = [each.mean_latency for each in measures(figures, scenario, "kube-default")]
    ours = measures(figures, scenario, policy)
    latency, moves = placer(figures, scenario)
    ratio = [each.mean_latency / before - 1.0 for each, before in zip(ours, base, strict=True)]
    gain = interval95(ratio)
    theirs = published.LATENCY
    told = sum(theirs["kubedsm"][scenario]) / sum(theirs["kube-default"][scenario]) - 1.0
    return [
        scenario,
        policy,
        f"{told:+.1%}" if policy == "kubedsm" else None,
        f"{mean(ratio) or 0.0:+.1%}",
        None if gain is None else f"{gain[0]:+.1%} to {gain[1]:+.1%}",
        f"{(mean([each.mean_latency for each in ours]) or 0.0) / latency - 1.0:+.1%}",
        rounded(mean([float(each.migrations) for each in ours])),
        rounded(moves),
        rounded(mean([each.satisfied for each in ours]), 3),
    ]


def placer(figures: Figures, scenario: str) -> tuple[float, float]:
    """Mean latency and moves of the exact placer."""
    rows = figures["scenarios"][scenario]["placer"]
    return mean([each[0] for each in rows]) or 0.0, mean([float(each[1]) for each in rows]) or 0.0


def rounded(value: float | None, digits: int = 1) -> float | None:
    return None if value is None else round(value, digits)


def _middle(services: Sequence[float] | None) -> float | None:
    return None if services is None else round(sum(services) / len(services), 1)
