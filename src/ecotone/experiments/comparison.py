"""Policies side by side: means over trials, confidence intervals, and what each gains over the first.

Trials are paired: the same trial meets the same users under every policy, so the interval of a gain is taken over the
trials' own ratios, which is much narrower than two separate intervals would suggest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ecotone.experiments.figures import interval95, mean, significant
from ecotone.experiments.runs import Run


def summarise(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One entry per policy, in the order in which they first appear; the first is the baseline."""
    policies = list(dict.fromkeys(run["policy"] for run in runs))
    by_policy = {policy: [run for run in runs if run["policy"] == policy] for policy in policies}
    baseline = by_policy[policies[0]] if policies else []
    return [_summary(policy, by_policy[policy], baseline) for policy in policies]


def _summary(policy: str, runs: Sequence[Run], baseline: Sequence[Run]) -> dict[str, Any]:
    p95 = _values(runs, "p95")
    requests = sum(run["requests"] for run in runs)
    failed = sum(run["failed"] for run in runs)
    with_failures = [value for run in runs if (value := run["p95_with_failures_ms"]) is not None]
    return {
        "policy": policy,
        "p95_ms": significant(mean(p95)),
        "p95_ci95": _rounded(interval95(p95)),
        "vs_baseline": significant(gain(runs, baseline)),
        "vs_baseline_ci95": _rounded(interval95(paired_ratios(runs, baseline))),
        "mean_ms": significant(mean(_values(runs, "mean"))),
        "p99_ms": significant(mean(_values(runs, "p99"))),
        "p95_with_failures_ms": significant(mean(with_failures)),
        "failed_share": significant(failed / requests) if requests else None,
        "evictions": significant(mean([float(run["evictions"]) for run in runs])),
        "trials": len(runs),
    }


def gain(runs: Sequence[Run], baseline: Sequence[Run]) -> float | None:
    """p95 / p95 of the baseline - 1: negative is better."""
    own, base = mean(_values(runs, "p95")), mean(_values(baseline, "p95"))
    return None if own is None or not base else own / base - 1.0


def paired_ratios(runs: Sequence[Run], baseline: Sequence[Run]) -> list[float]:
    base = {run["trial"]: run["response_ms"]["p95"] for run in baseline}
    return [
        run["response_ms"]["p95"] / base[run["trial"]] - 1.0
        for run in runs
        if base.get(run["trial"]) and run["response_ms"]["p95"] is not None
    ]


def _values(runs: Sequence[Run], figure: str) -> list[float]:
    return [value for run in runs if (value := run["response_ms"][figure]) is not None]


def _rounded(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [significant(end) for end in interval]
