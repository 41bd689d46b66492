"""Each phase of load by itself: the pooled percentile of a run is often decided by one of them alone."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.rows import Row, dot, rows, span
from ecotone.drawing.charts.scale import from_zero
from ecotone.drawing.html import Markup
from ecotone.drawing.numbers import ms, number, three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy, average
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.timeline import Phase

_MOST = 24


def by_phase(policies: Sequence[Policy], phases: Sequence[Phase]) -> Markup | None:
    if len(phases) < 2:
        return None
    figures = [[_p95(policy, index) for policy in policies] for index in range(len(phases))]
    known = [value for row in figures for value in row if value is not None]
    if not known:
        return None
    scale = from_zero(known)
    axis = [(tick, three_digits(tick)) for tick in scale.ticks()]
    axis[-1] = (axis[-1][0], ms(axis[-1][0]))
    drawn = []
    sizes = [
        4.0 + 2.0 * min(2, len(policies) - 1 - index) for index in range(len(policies))
    ]  # equal ones show as rings
    for phase, row in list(zip(phases, figures, strict=True))[:_MOST]:
        there = [value for value in row if value is not None]
        marks: list[Markup] = [span(scale, min(there), max(there), y=13, class_="connector")] if there else []
        marks += [
            dot(scale, value, y=13, class_=f"dot f{policy.slot}", title=f"{policy.name}: {ms(value)}", radius=size)
            for policy, value, size in zip(policies, row, sizes, strict=True)
            if value is not None
        ]
        name = f"{phase.number}  {phase.call}"
        drawn.append(Row(name, marks, detail=phase.title))
    label = "95th percentile of the response time of each policy in each phase of load"
    picture = rows(drawn, scale=scale, axis=axis, row_height=26, label=label, right=28)
    table = beside(
        ["phase", *(policy.name for policy in policies)],
        [
            [f"{each.number} {each.title}", *(ms(value) for value in row)]
            for each, row in zip(phases, figures, strict=True)
        ],
        caption="95th percentile by phase of load",
    )
    legend = policy_legend([(each.name, each.slot) for each in policies], toggles=True)
    reading = (
        "95th percentile of the response time in each phase of load: what is asked for, and from where. Left is better."
    )
    return card("Phase by phase", legend, picture, table, reading=reading)


def _p95(policy: Policy, index: int) -> float | None:
    intervals = [run.get("intervals") or () for run in policy.runs]
    return average(number(each[index].get("p95_ms")) for each in intervals if len(each) > index)
