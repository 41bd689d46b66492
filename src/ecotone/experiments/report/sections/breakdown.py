"""What the mean response time is made of: messages under way, CPU at work, waiting, and disruption."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.charts.legend import legend
from ecotone.drawing.charts.rows import Row, bar, rows
from ecotone.drawing.charts.scale import Scale, from_zero
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import ms, number, percent, three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy, average
from ecotone.experiments.report.sections.card import card

_WORDS = {
    "network": "network",
    "work": "CPU at work",
    "cpu": "CPU",
    "waiting": "waiting for CPU",
    "queueing": "waiting for CPU",
    "disruption": "disruption by moves",
}
_TOLD = 0.1  # ms: less is not worth a sentence
_CLASSES = ("part0", "part1", "part2", "part3", "part4")


def breakdown(policies: Sequence[Policy]) -> Markup | None:
    reading = "The mean response time, taken apart along each request's slowest branch."
    lost = [f"{policy.name} {ms(extra)}" for policy in policies if (extra := _lost(policy)) >= _TOLD]
    if lost:
        reading += f" Requests that failed are not in it; as 60 s each they would add disruption: {', '.join(lost)}."
    what = "mean response time"
    return _card(policies, "breakdown_ms", title="What the time went into", what=what, reading=reading)


def breakdown_of_p95(policies: Sequence[Policy]) -> Markup | None:
    reading = "The same for the slow ones: requests within 1 % of the 95th percentile."
    what = "95th percentile"
    return _card(
        policies, "p95_breakdown_ms", title="What the slow requests' time went into", what=what, reading=reading
    )


def _card(policies: Sequence[Policy], key: str, *, title: str, what: str, reading: str) -> Markup | None:
    found = {policy.name: _parts(policy, key) for policy in policies}
    kinds = list(dict.fromkeys(kind for parts in found.values() for kind in parts))
    kinds.sort(key=lambda kind: (list(_WORDS).index(kind) if kind in _WORDS else len(_WORDS), kind))
    kinds = kinds[: len(_CLASSES)]
    shown = [policy for policy in policies if found[policy.name]]
    if not shown:
        return None
    scale = from_zero([sum(found[policy.name].values()) for policy in shown])
    if scale.logarithmic:
        scale = Scale(0.0, scale.high)  # parts of a sum need a linear axis
    axis = [(tick, three_digits(tick)) for tick in scale.ticks(4)]
    axis[-1] = (axis[-1][0], ms(axis[-1][0]))
    drawn = [Row(policy.name, _stack(found[policy.name], kinds, scale)) for policy in shown]
    picture = rows(drawn, scale=scale, axis=axis, row_height=38, label=f"Parts of the {what} per policy", right=28)
    table = beside(
        ["policy", *(_WORDS.get(kind, kind) for kind in kinds), "sum"],
        [
            [policy.name, *(ms(found[policy.name].get(kind)) for kind in kinds), ms(sum(found[policy.name].values()))]
            for policy in shown
        ],
        caption=f"Parts of the {what}",
    )
    swatches = legend([(_WORDS.get(kind, kind), _CLASSES[position]) for position, kind in enumerate(kinds)])
    return card(title, swatches, picture, table, reading=reading)


def _parts(policy: Policy, key: str) -> dict[str, float]:
    kinds = dict.fromkeys(kind for run in policy.runs for kind in run.get(key) or ())
    means = {kind: average((run.get(key) or {}).get(kind) for run in policy.runs) for kind in kinds}
    return {str(kind): value for kind, value in means.items() if value is not None and value >= 0.0}


def _lost(policy: Policy) -> float:
    """Milliseconds that failures by disruption add to the mean when each counts as a minute."""
    gaps = []
    for run in policy.runs:
        whole, answered = (run.get(key) or {} for key in ("breakdown_with_failures_ms", "breakdown_ms"))
        gaps.append((number(whole.get("disruption")) or 0.0) - (number(answered.get("disruption")) or 0.0))
    return average(gaps) or 0.0


def _stack(parts: dict[str, float], kinds: Sequence[str], scale: Scale) -> list[Markup]:
    marks, reached = [], 0.0
    whole = sum(parts.values()) or 1.0
    for position, kind in enumerate(kinds):
        value = number(parts.get(kind))
        if not value:
            continue
        title = f"{_WORDS.get(kind, kind)}: {ms(value)}, {percent(value / whole)}"
        marks.append(bar(scale, reached, reached + value, y=8, height=22, class_=_CLASSES[position], title=title))
        reached += value
    return [element("g", marks, class_="stack")]
