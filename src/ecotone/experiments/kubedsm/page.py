"""The tables of docs/kubedsm.md, from the stored results of the experiments.

    ecotone experiment kubedsm-means --trials 10 -o json > docs/results/kubedsm-means.json       (also -sigmas, -variants)
    python -m ecotone.experiments.kubedsm.page docs/kubedsm.md

Each table stands between a pair of comments that name it; whatever is between them is replaced.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ecotone.experiments.campaign.statistics import mean
from ecotone.experiments.kubedsm import published
from ecotone.experiments.kubedsm.measures import Measures
from ecotone.experiments.kubedsm.tables import Figures, measures, placer

MOVING = ("kube-default", "kubedsm", "ecotone")


def sections(results: Path) -> dict[str, str]:
    """Name of the table -> its Markdown."""
    means, sigmas, variants = (
        json.loads((results / f"kubedsm-{name}.json").read_text(encoding="utf-8"))["figures"]
        for name in ("means", "sigmas", "variants")
    )
    family = {"trials": means["trials"], "scenarios": {**means["scenarios"], **sigmas["scenarios"]}}
    return {
        "quality": _quality(family),
        "figures": _figures(family),
        "published": _published(family),
        "variants": _variants(variants),
    }


def with_tables(page: str, tables: Mapping[str, str]) -> str:
    for name, table in tables.items():
        before, begin, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"\n<!-- /{name} -->")
        page = f"{before}{begin}{table}{end}{after}"
    return page


def _markdown(header: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "\n".join("| " + " | ".join(each) + " |" if each[0] != "---" else "|" + "---|" * len(each) for each in lines)


def _quality(figures: Figures) -> str:
    """Latency with migrations in brackets, the placer's, and the share of promises kept of those that could be."""
    header = ("scenario", *MOVING, "exact placer", "kept by kubedsm", "kept by ecotone")
    rows = []
    for name in sorted(figures["scenarios"]):
        found = {policy: measures(figures, name, policy) for policy in MOVING}
        cells = [name, *(f"{_of(rows_, _latency):.1f} ({_of(rows_, _moves):.1f})" for rows_ in found.values())]
        cells.append("{:.1f} ({:.1f})".format(*placer(figures, name)))
        cells += [f"{_of(found[policy], _kept):.1%}" for policy in MOVING[1:]]
        rows.append(cells)
    every = {policy: _pooled(figures, policy) for policy in MOVING}
    last = ["mean", *(f"{_of(found, _latency):.1f} ({_of(found, _moves):.1f})" for found in every.values())]
    placed = [placer(figures, name) for name in figures["scenarios"]]
    last.append(f"{mean([each[0] for each in placed]) or 0.0:.1f} ({mean([each[1] for each in placed]) or 0.0:.1f})")
    last += [f"{_of(every[policy], _kept):.1%}" for policy in MOVING[1:]]
    return _markdown(header, [*rows, last])


def _figures(figures: Figures) -> str:
    header = (
        *("policy", "A", "B", "C", "D", "edge ratio", "utilisation", "fragmentation", "kept of achievable", "fairness"),
        *("response ms", "failed"),
    )
    rows = []
    for policy in next(iter(figures["scenarios"].values()))["policies"]:
        found = _pooled(figures, policy)
        cells = [policy, *(f"{mean([each.latency[index] for each in found]) or 0.0:.1f}" for index in range(4))]
        shares = ("edge_ratio", "utilisation", "fragmentation", "satisfied", "fairness")
        cells += [f"{mean([getattr(each, name) for each in found]) or 0.0:.3f}" for name in shares]
        cells += [
            f"{mean([each.response_ms or 0.0 for each in found]) or 0.0:.1f}",
            str(sum(each.failed for each in found)),
        ]
        rows.append(cells)
    return _markdown(header, rows)


def _published(figures: Figures) -> str:
    header = (
        *("scenario", "published: kube", "KubeDSM", "gain", "edge ratio", "kept"),
        *("ours: kube-default", "kubedsm", "gain", "edge ratio", "kept"),
    )
    rows = []
    for name in sorted(figures["scenarios"]):
        kube, dsm = (sum(published.LATENCY[policy][name]) / 4 for policy in MOVING[:2])
        ours = {policy: measures(figures, name, policy) for policy in MOVING[:2]}
        base, found = (_of(ours[policy], _latency) for policy in MOVING[:2])
        rows.append(
            [
                *(name, f"{kube:.1f}", f"{dsm:.1f}", f"{dsm / kube - 1.0:+.1%}"),
                *(f"{published.EDGE_RATIO['kubedsm'][name][0]:.3f}", f"{published.KEPT[name][0]:.0%}"),
                *(f"{base:.1f}", f"{found:.1f}", f"{found / base - 1.0:+.1%}"),
                *(f"{_of(ours['kubedsm'], lambda each: each.edge_ratio):.3f}", f"{_of(ours['kubedsm'], _kept):.0%}"),
            ]
        )
    return _markdown(header, rows)


def _variants(figures: Figures) -> str:
    header = ("scenario", "variant", "published", "ours", "A", "B", "C", "D", "migrations")
    rows = []
    for name, found in figures["scenarios"].items():
        for policy in found["policies"]:
            own = measures(figures, name, policy)
            theirs = published.VARIANTS[name][policy]
            services = (f"{mean([each.latency[index] for each in own]) or 0.0:.1f}" for index in range(4))
            rows.append(
                [
                    name,
                    policy,
                    f"{sum(theirs) / 4:.1f}",
                    f"{_of(own, _latency):.1f}",
                    *services,
                    f"{_of(own, _moves):.1f}",
                ]
            )
    return _markdown(header, rows)


def _pooled(figures: Figures, policy: str) -> list[Measures]:
    return [each for name in figures["scenarios"] for each in measures(figures, name, policy)]


def _of(found: list[Measures], what: Callable[[Measures], float]) -> float:
    return mean([what(each) for each in found]) or 0.0


def _latency(found: Measures) -> float:
    return found.mean_latency


def _moves(found: Measures) -> float:
    return float(found.migrations)


def _kept(found: Measures) -> float:
    return found.satisfied


def main(arguments: list[str]) -> None:
    page = Path(arguments[0])
    tables: dict[str, Any] = sections(page.parent / "results")
    page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
