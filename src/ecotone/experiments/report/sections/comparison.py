"""Policies side by side: the middle, the slow and the slowest requests, failures and moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ecotone.drawing.charts.rows import Row, dot, rows, span
from ecotone.drawing.charts.scale import Scale, reaching
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import count, ms, percent, small_share, three_digits
from ecotone.drawing.tables import table
from ecotone.experiments.report.headline import best
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card


def comparison(policies: Sequence[Policy]) -> Markup | None:
    if not policies:
        return None
    reading = "The line runs from the median to the 99th percentile of the response time, the dot is the 95th"
    reading += ", the thick part its 95 % confidence interval." if any(each.p95_interval for each in policies) else "."
    return card("Policies compared", _chart(policies), _table(policies), reading=reading)


def _chart(policies: Sequence[Policy]) -> Markup | None:
    shown = [each for each in policies if each.p95 is not None]
    if not shown:
        return None
    figures = [value for each in shown for value in (each.p50, each.p95, each.p99) if value is not None]
    scale = reaching(figures, ends=[each.p95_interval[1] for each in shown if each.p95_interval is not None])
    axis = [(tick, three_digits(tick)) for tick in scale.ticks()]
    axis[-1] = (axis[-1][0], ms(axis[-1][0]))
    drawn = [Row(each.name, _marks(each, scale)) for each in shown]
    label = "95th percentile of the response time: " + ", ".join(f"{each.name} {ms(each.p95)}" for each in shown)
    return rows(drawn, scale=scale, axis=axis, row_height=30, label=label, right=28)


def _marks(policy: Policy, scale: Scale) -> list[Markup]:
    assert policy.p95 is not None
    marks = []
    if policy.p50 is not None and policy.p99 is not None:
        marks.append(span(scale, policy.p50, policy.p99, y=15, class_=f"range s{policy.slot}"))
    if policy.p95_interval is not None:
        marks.append(span(scale, *policy.p95_interval, y=15, class_=f"interval s{policy.slot}"))
    title = f"{policy.name}: p50 {ms(policy.p50)}, p95 {ms(policy.p95)}, p99 {ms(policy.p99)}"
    marks.append(dot(scale, policy.p95, y=15, class_=f"dot f{policy.slot}", title=title, radius=6))
    return marks


def _table(policies: Sequence[Policy]) -> Markup:
    leaders = best(policies)
    several = any(each.p95_interval for each in policies)
    priced = any(each.cost is not None for each in policies)
    failures_matter = any(each.failed for each in policies)
    promised = any(each.counted is not None for each in policies)
    header = ["policy", "p50", "p95", *(["95 % interval"] if several else []), "p99", "against baseline",
              *(["95 % interval"] if several else []), "failed", *(["p95, failures counted"] if failures_matter else []),
              *(["latency by tier"] if promised else []), "moves", *(["cost per hour"] if priced else []),
              "requests"]  # fmt: skip
    body = []
    for index, each in enumerate(policies):
        name = [
            _dot(each),
            each.name,
            element("span", "best", class_="badge") if each in leaders and len(leaders) < len(policies) else None,
        ]
        against = "baseline" if index == 0 else percent(each.gain, signed=True)
        body.append([
            name, ms(each.p50), element("b", ms(each.p95)), *([_between(each.p95_interval, ms)] if several else []),
            ms(each.p99), against, *([_between(each.gain_interval if index else None, _exact)] if several else []),
            small_share(each.failed_share), *([ms(each.with_failures)] if failures_matter else []),
            *([ms(each.counted)] if promised else []), count(each.evictions),
            *(["–" if each.cost is None else three_digits(each.cost)] if priced else []), count(each.requests),
        ])  # fmt: skip
    return table(
        header,
        body,
        caption="Response times, failures and moves per policy; moves are per trial"
        + (
            ", latency by tier is the mean of what the tiers of a service's pods are declared to cost"
            if promised
            else ""
        ),
        class_="figures",
    )


def _between(interval: tuple[float, float] | None, written: Callable[[float], str]) -> str:
    return "–" if interval is None else f"{written(interval[0])} … {written(interval[1])}"


def _exact(share: float) -> str:
    return percent(share, exact=True)


def _dot(policy: Policy) -> Markup:
    circle = element("circle", cx=5, cy=5, r=5, class_=f"f{policy.slot}")
    return element("svg", circle, width=10, height=10, aria_hidden="true", class_="swatch")
