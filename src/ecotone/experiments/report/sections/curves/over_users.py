"""The 95th percentile as more users come, with confidence bands: where a policy stops holding up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ecotone.drawing.charts.frame import chart, horizontal_grid, vertical_axis_labels
from ecotone.drawing.charts.hover import hover
from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.line import Line, Point, lines, same
from ecotone.drawing.charts.scale import Scale, reaching
from ecotone.drawing.html import Markup
from ecotone.drawing.numbers import ms, number, pair, percent, three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card

_HEIGHT = 260


def over_users(sweep: Sequence[Mapping[str, Any]], policies: Sequence[Policy]) -> Markup | None:
    """`sweep` has an entry per number of users: {"users": n, "summary": [...]}."""
    return curves(
        sweep, policies, title="More users", unit=" users",
        reading="95th percentile of the response time in milliseconds over the number of virtual users",
    )  # fmt: skip


def curves(
    sweep: Sequence[Mapping[str, Any]],
    policies: Sequence[Policy],
    *,
    title: str,
    reading: str,
    unit: str = "",
    names: Mapping[float, str] | None = None,
) -> Markup | None:
    """A line per policy; `users` of an entry is its place on the axis, which `names` may call something else."""
    called = names or {}
    drawn = [line for policy in policies if (line := _line(sweep, policy)) is not None]
    users = sorted({point.x for line in drawn for point in line.points})
    if len(users) < 2:
        return None  # a single point shows nothing that the comparison does not
    x = Scale(users[0], users[-1])
    points = [point for line in drawn for point in line.points]
    ends = [point.high for point in points if point.high is not None]
    y = reaching([point.y for point in points if point.y is not None], ends=ends)
    listed = ", ".join(line.name for line in drawn)
    heads = [called.get(each, f"{each:g}{unit}") for each in users]
    picture = chart(
        horizontal_grid(y, height=_HEIGHT, labels=[(tick, three_digits(tick)) for tick in y.ticks()]),
        vertical_axis_labels(x, height=_HEIGHT, labels=[(each, called.get(each, f"{each:g}")) for each in users]),
        lines(drawn, x=x, y=y, height=_HEIGHT, markers=True),
        height=_HEIGHT, right=28, label=f"{title}: 95th percentile of the response time for {listed}",
        hover=hover(x, drawn, head=heads),
    )  # fmt: skip
    reading += "; the bands are 95 % confidence intervals over trials." if ends else "."
    reading += " Those that end at the top go further." if max(ends, default=0.0) > y.high else ""
    legend = policy_legend([(line.name, line.slot) for line in drawn], toggles=True)
    return card(title, legend, picture, _table(sweep, drawn, users, heads), reading=reading + same(drawn))


def _line(sweep: Sequence[Mapping[str, Any]], policy: Policy) -> Line | None:
    points = []
    for entry in sweep:
        users = number(entry.get("users"))
        found = next((each for each in entry.get("summary") or () if each.get("policy") == policy.name), None)
        if users is None or found is None or (p95 := number(found.get("p95_ms"))) is None:
            continue
        low, high = pair(found.get("p95_ci95")) or (None, None)
        points.append(Point(users, p95, None if low is None else max(0.0, low), high))
    return Line(policy.name, policy.slot, sorted(points, key=lambda point: point.x)) if points else None


def _table(
    sweep: Sequence[Mapping[str, Any]], drawn: Sequence[Line], users: Sequence[float], heads: Sequence[str]
) -> Markup:
    gains = {
        (number(entry.get("users")), each.get("policy")): number(each.get("vs_baseline"))
        for entry in sweep
        for each in entry.get("summary") or ()
    }
    rows = []
    for line in drawn:
        at = {point.x: point for point in line.points}
        cells = []
        for each in users:
            gain = gains.get((each, line.name))
            text = ms(at[each].y) if each in at else "–"
            cells.append(f"{text} ({percent(gain, signed=True)})" if gain else text)
        rows.append([line.name, *cells])
    return beside(["policy", *heads], rows, caption="95th percentile, with the difference to the baseline")
