"""The one sentence somebody takes away, and no more than the figures carry.

A policy is said to have won only against the baseline's paired interval; a gain that vanishes once failed requests count is
called that. Without several trials there is no interval, and the sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.html import Markup, element, join
from ecotone.drawing.numbers import ms, number, percent, small_share
from ecotone.experiments.report.results import Policy, average


def headline(policies: Sequence[Policy]) -> Markup:
    leaders = best(policies)
    if not leaders:
        return join(["No request was answered, so there is nothing to compare."])
    first, baseline = leaders[0], policies[0]
    verb = " answers" if len(leaders) == 1 else " answer"
    within = join([_listed(leaders), verb, " 95 of 100 requests within ", element("b", ms(first.p95))])
    if len(policies) == 1:
        return join([within, _trials(first), "."])
    if baseline in leaders:
        rest = [each for each in ranking(policies) if each not in leaders]
        next_best = f": the next, {rest[0].name}, needs {ms(rest[0].p95)}" if rest else ": all policies do the same"
        return join([within, f" and {'is' if len(leaders) == 1 else 'are'} not beaten", next_best, _trials(first), "."])
    gain, than = percent(abs(first.gain or 0.0)), element("span", baseline.name, class_="whole")
    if not clear(first):
        return join([within, f", {gain} less than ", than, ", but chance alone may give that", _interval(first), "."])
    less = element("b", gain, " less")
    return join([within, ", ", less, " than ", than, _interval(first), _failures(first, baseline), "."])


def because(policies: Sequence[Policy], changes: Sequence[float]) -> str | None:
    """Why the best is ahead of the next, in figures: the part of the time that differs most, and who moved after a change."""
    ranked = ranking(policies)
    if len(ranked) < 2 or ranked[0].p95 == ranked[1].p95:
        return None
    first, following = ranked[0], ranked[1]
    own, other = parts_of(first), parts_of(following)
    gaps = {kind: other[kind] - own[kind] for kind in own.keys() & other.keys()}
    if not gaps:
        return None
    kind, gap = max(gaps.items(), key=lambda each: (each[1], each[0]))
    if gap <= 0.0:
        return None
    words = {"network": "between nodes", "waiting": "waiting for CPU", "work": "at work", "disruption": "after moves"}
    said = (
        f"The reason: a request of {first.name} spends {ms(own[kind])} {words.get(kind, kind)} on average, "
        f"one of {following.name}, the next best, {ms(other[kind])}."
    )
    return f"{said}{_followed(first, ranked[1:], changes)}"


_SOON = 120.0  # seconds in which a move answers a change


def _followed(first: Policy, others: Sequence[Policy], changes: Sequence[float]) -> str:
    moves = [at for run in first.runs for move in run.get("moves") or () if (at := number(move.get("at"))) is not None]
    if not moves or not changes:
        return ""
    soon = sum(any(0.0 <= at - change <= _SOON for change in changes) for at in moves)
    which = "all" if soon == len(moves) else f"{soon}"
    trials = "" if len(first.runs) == 1 else " in all trials"
    still = "; no other policy moved a pod" if all(not each.evictions for each in others) else ""
    return (
        f" It moved pods {len(moves)} times{trials}, {which} of them within two minutes after users, links or nodes had "
        f"changed: services follow what changes{still}."
    )


def parts_of(policy: Policy) -> dict[str, float]:
    """Mean milliseconds of each part of the response time, over the trials."""
    kinds = {kind for run in policy.runs for kind in run.get("breakdown_ms") or ()}
    means = {str(kind): average((run.get("breakdown_ms") or {}).get(kind) for run in policy.runs) for kind in kinds}
    return {kind: value for kind, value in means.items() if value is not None}


def best(policies: Sequence[Policy]) -> list[Policy]:
    """Those with the lowest p95: several only when they are equal."""
    ranked = ranking(policies)
    return [each for each in ranked if each.p95 == ranked[0].p95]


def ranking(policies: Sequence[Policy]) -> list[Policy]:
    """By p95, best first; a tie leaves the order of naming."""
    return sorted((each for each in policies if each.p95 is not None), key=lambda each: each.p95 or 0.0)


def clear(policy: Policy) -> bool:
    """True if the interval of the difference stays on one side of nothing (a single trial is taken at its word)."""
    interval = policy.gain_interval
    return interval is None or interval[0] > 0.0 or interval[1] < 0.0


def _listed(policies: Sequence[Policy]) -> Markup:
    names = [element("span", policy.name, class_=f"policy whole c{policy.slot}") for policy in policies]
    between = [", "] * (len(names) - 2) + [" and ", ""]
    return join([[name, word] for name, word in zip(names, between[-len(names) :], strict=True)])


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
    if not best.failed:
        return ""
    known = best.with_failures is not None and baseline.with_failures is not None
    if known and (best.with_failures or 0.0) >= (baseline.with_failures or 0.0):
        return f"; but {small_share(best.failed_share)} of its requests failed, and counting these the gain is gone"
    return f"; {small_share(best.failed_share)} of its requests failed"
