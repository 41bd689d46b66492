"""The one sentence somebody takes away, and no more than the figures carry.

A policy is said to have won only against the baseline's paired interval; a gain that vanishes once failed requests count is
called that. Without several trials there is no interval, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.experiments.report.html import Markup, element, join
from ecotone.experiments.report.numbers import ms, percent
from ecotone.experiments.report.reading import Policy


def headline(policies: Sequence[Policy]) -> Markup:
    ranked = ranking(policies)
    if not ranked:
        return join(["No request was answered, so there is nothing to compare."])
    best, baseline = ranked[0], policies[0]
    within = join([_name(best), " answers 95 of 100 requests within ", element("b", ms(best.p95))])
    if len(ranked) == 1:
        return join([within, _trials(best), "."])
    if best is baseline:
        second = ranked[1]
        return join(
            [within, f" and is not beaten: the next, {second.name}, needs ", ms(second.p95), _trials(best), "."]
        )  # fmt: skip
    less = element("b", percent(abs(best.gain or 0.0)), " less")
    if not clear(best):
        doubt = " but the difference is within what chance gives" + _interval(best)
        return join([within, ", ", percent(abs(best.gain or 0.0)), f" less than {baseline.name},", doubt, "."])
    return join([within, ", ", less, f" than {baseline.name}", _interval(best), _failures(best, baseline), "."])


def ranking(policies: Sequence[Policy]) -> list[Policy]:
    """By p95, best first; a tie leaves the order of naming."""
    return sorted((each for each in policies if each.p95 is not None), key=lambda each: each.p95 or 0.0)


def clear(policy: Policy) -> bool:
    """Whether the interval of the difference stays on one side of nothing (a single trial is taken at its word)."""
    interval = policy.gain_interval
    return interval is None or interval[0] > 0.0 or interval[1] < 0.0


def _name(policy: Policy) -> Markup:
    return element("span", policy.name, class_=f"policy c{policy.slot}")


def _interval(policy: Policy) -> str:
    interval = policy.gain_interval
    if interval is None:
        return "" if policy.trials != 1 else " (one trial, so no confidence interval)"
    low, high = sorted((-interval[0], -interval[1]))
    return f" (95{chr(160)}% confidence: {percent(low)} to {percent(high)}, {policy.trials} trials)"


def _trials(policy: Policy) -> str:
    interval = policy.p95_interval
    if interval is None:
        return " (one trial)" if policy.trials == 1 else ""
    return f" (95{chr(160)}% confidence: {ms(interval[0])} to {ms(interval[1])}, {policy.trials} trials)"


def _failures(best: Policy, baseline: Policy) -> str:
    if best.with_failures is None or baseline.with_failures is None or best.with_failures < baseline.with_failures:
        return ""
    return " among answered requests; counting failures as a minute each, the gain is gone"
