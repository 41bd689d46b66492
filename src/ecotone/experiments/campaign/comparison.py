"""Policies side by side: means over trials, confidence intervals, and what each gains over the first.

Trials are paired: the same trial meets the same users under every policy, so the interval of a gain is taken over the
trials' own ratios, which is much narrower than two separate intervals would suggest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ecotone.experiments.campaign.best_static.bound import NAME as BOUND
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.statistics import interval95, mean, significant


def summarise(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """One entry per policy, in the order in which they first appear; the first is the baseline."""
    policies = list(dict.fromkeys(run.policy for run in runs))
    by_policy = {policy: [run for run in runs if run.policy == policy] for policy in policies}
    baseline = by_policy[policies[0]] if policies else []
    best = by_policy.get(BOUND, [])
    return [_summary(policy, by_policy[policy], baseline) | _above(by_policy[policy], best) for policy in policies]


def _above(runs: Sequence[Run], best: Sequence[Run]) -> dict[str, Any]:
    """By which share its means exceed those of the best static placements, where these were searched."""
    if not best:
        return {}
    whole = _ratio([(run.response_ms.mean, each.response_ms.mean) for run, each in zip(runs, best, strict=False)])
    settled = _ratio([(run.settled_mean_ms, each.settled_mean_ms) for run, each in zip(runs, best, strict=False)])
    return {"above_bound": significant(whole), "above_bound_settled": significant(settled)}


def _ratio(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    usable = [(own, bound) for own, bound in pairs if own is not None and bound]
    return sum(own for own, _ in usable) / sum(bound for _, bound in usable) - 1.0 if usable else None


def _summary(policy: str, runs: Sequence[Run], baseline: Sequence[Run]) -> dict[str, Any]:
    p95 = p95_values(runs)
    gained = gain(runs, baseline)
    requests = sum(run.requests for run in runs)
    failed = sum(run.failed for run in runs)
    return {
        "policy": policy,
        "p95_ms": significant(mean(p95)),
        "p95_ci95": _rounded(interval95(p95)),
        "vs_baseline": significant(None if gained is None else -gained),
        "vs_baseline_ci95": _rounded(interval95([-each for each in paired_gains(runs, baseline).values()])),
        "mean_ms": significant(mean(known(run.response_ms.mean for run in runs))),
        "p99_ms": significant(mean(known(run.response_ms.p99 for run in runs))),
        "p95_with_failures_ms": significant(mean(p95_values(runs, failures=True))),
        "failed_share": significant(failed / requests) if requests else None,
        "evictions": significant(mean([float(run.evictions) for run in runs])),
        "unplaced": significant(mean([float(len(run.unplaced)) for run in runs])),
        "trials": len(runs),
    }


def gain(runs: Sequence[Run], baseline: Sequence[Run], *, failures: bool = False) -> float | None:
    """1 - p95 / p95 of the baseline, each the mean over trials: positive is better. `failures` count as a minute each."""
    own, base = mean(p95_values(runs, failures=failures)), mean(p95_values(baseline, failures=failures))
    return None if own is None or not base else 1.0 - own / base


def paired_gains(runs: Sequence[Run], baseline: Sequence[Run]) -> dict[int, float]:
    """Each trial's own gain, for the trials that both have."""
    base = {run.trial: run.response_ms.p95 for run in baseline}
    return {
        run.trial: 1.0 - run.response_ms.p95 / against
        for run in runs
        if (against := base.get(run.trial)) and run.response_ms.p95 is not None
    }


def p95_values(runs: Sequence[Run], *, failures: bool = False) -> list[float]:
    """Per trial, milliseconds."""
    return known(run.p95_with_failures_ms if failures else run.response_ms.p95 for run in runs)


def known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _rounded(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [significant(end) for end in interval]
