"""The whole distribution of the response times, not only its quantiles: which share of the requests was answered by when."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.charts.frame import chart, horizontal_grid, vertical_axis_labels
from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.line import Line, Point, lines, same
from ecotone.drawing.charts.scale import Scale, from_zero
from ecotone.drawing.html import Markup
from ecotone.drawing.numbers import ms, number, percent, three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy, average
from ecotone.experiments.report.sections.card import card

_HEIGHT = 220
_LAST = 0.99  # the slowest hundredth would flatten everything else
_SHARES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0)


def distribution(policies: Sequence[Policy]) -> Markup | None:
    known = {policy.name: _quantiles(policy) for policy in policies}
    drawn = [
        Line(policy.name, policy.slot, [Point(time, share) for share, time in found if share <= _LAST])
        for policy in policies
        if (found := known[policy.name])
    ]
    if not drawn:
        return None
    x = from_zero([point.x for line in drawn for point in line.points])
    y = Scale(0.0, 1.0)
    axis = [(tick, three_digits(tick)) for tick in x.ticks()]
    axis[-1] = (axis[-1][0], ms(axis[-1][0]))
    picture = chart(
        horizontal_grid(y, height=_HEIGHT, labels=[(tick, percent(tick)) for tick in (0.0, 0.25, 0.5, 0.75, 0.95)]),
        vertical_axis_labels(x, height=_HEIGHT, labels=axis, lines=True),
        lines(drawn, x=x, y=y, height=_HEIGHT, markers=False),
        height=_HEIGHT, right=28, label=f"Share of requests answered in time for {', '.join(line.name for line in drawn)}",
    )  # fmt: skip
    rows = [[percent(share, exact=True), *(_at(known[line.name], share) for line in drawn)] for share in _SHARES]
    table = beside(["share", *(line.name for line in drawn)], rows, caption="Response times by share of requests")
    legend = policy_legend([(line.name, line.slot) for line in drawn], toggles=True)
    reading = "Which share of the answered requests had its answer within which time, up to 99 %; the mean over trials."
    if x.logarithmic:
        reading += " Times are on a logarithmic scale."
    return card("How response times are distributed", legend, picture, table, reading=reading + same(drawn))


def _quantiles(policy: Policy) -> list[tuple[float, float]]:
    """Share and milliseconds, the mean over the trials."""
    by_share: dict[float, list[object]] = {}
    for run in policy.runs:
        for entry in run.get("quantiles_ms") or ():
            share = number(entry[0])
            if share is not None:
                by_share.setdefault(share, []).append(entry[1])
    means = {share: average(values) for share, values in by_share.items()}
    return sorted((share, time) for share, time in means.items() if time is not None)


def _at(found: Sequence[tuple[float, float]], share: float) -> str:
    """The time of the nearest share that is kept."""
    near = min(found, key=lambda each: abs(each[0] - share), default=None)
    return "–" if near is None or abs(near[0] - share) > 0.011 else ms(near[1])
