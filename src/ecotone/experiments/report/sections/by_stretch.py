"""Each stretch of load by itself: the pooled percentile of a run is often decided by one of them alone."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.experiments.report.charts.legend import policy_legend
from ecotone.experiments.report.charts.rows import Row, dot, rows, span
from ecotone.experiments.report.charts.scale import from_zero
from ecotone.experiments.report.html import Markup
from ecotone.experiments.report.numbers import ms, number, three_digits
from ecotone.experiments.report.reading import Policy, average
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.tables import beside
from ecotone.experiments.report.timeline import Stretch

_MOST = 24


def by_stretch(policies: Sequence[Policy], stretches: Sequence[Stretch]) -> Markup | None:
    if len(stretches) < 2:
        return None
    figures = [[_p95(policy, place) for policy in policies] for place in range(len(stretches))]
    known = [value for row in figures for value in row if value is not None]
    if not known:
        return None
    scale = from_zero(known)
    axis = [(tick, three_digits(tick)) for tick in scale.ticks()]
    axis[-1] = (axis[-1][0], ms(axis[-1][0]))
    drawn = []
    sizes = [
        4.0 + 2.0 * min(2, len(policies) - 1 - place) for place in range(len(policies))
    ]  # equal ones show as rings
    for stretch, row in list(zip(stretches, figures, strict=True))[:_MOST]:
        there = [value for value in row if value is not None]
        marks: list[Markup] = [span(scale, min(there), max(there), y=13, class_="connector")] if there else []
        marks += [
            dot(scale, value, y=13, class_=f"dot f{policy.slot}", title=f"{policy.name}: {ms(value)}", radius=size)
            for policy, value, size in zip(policies, row, sizes, strict=True)
            if value is not None
        ]
        name = f"{stretch.number}  {stretch.call}"
        drawn.append(Row(name, marks, detail=stretch.title))
    label = "95th percentile of the response time of each policy in each stretch of load"
    picture = rows(drawn, scale=scale, axis=axis, row_height=26, label=label, left=150, right=28, letters=24)
    table = beside(
        ["stretch", *(policy.name for policy in policies)],
        [
            [f"{each.number} {each.title}", *(ms(value) for value in row)]
            for each, row in zip(stretches, figures, strict=True)
        ],
        caption="95th percentile by stretch of load",
    )
    legend = policy_legend([(each.name, each.slot) for each in policies], toggles=True)
    reading = "95th percentile of the response time in each stretch of load: what is asked for, and from where. Left is better."
    return card("Stretch by stretch", legend, picture, table, reading=reading)


def _p95(policy: Policy, place: int) -> float | None:
    intervals = [run.get("intervals") or () for run in policy.runs]
    return average(number(each[place].get("p95_ms")) for each in intervals if len(each) > place)
