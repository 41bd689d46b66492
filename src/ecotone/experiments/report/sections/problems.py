"""What went wrong, before anything else: pods that found no node, and requests that got no answer, why and when."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.charts.frame import chart, horizontal_grid, vertical_axis_labels
from ecotone.drawing.charts.hover import hover
from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.line import Line, Point, lines
from ecotone.drawing.charts.scale import Scale, TimeAxis, from_zero
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import clock, count, number, three_digits
from ecotone.drawing.tables import table
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card

_HEIGHT = 140
_WINDOW = 15.0  # seconds, as results have them
_WORDS = {
    "starting": "no ready pod, one was starting",
    "unplaced": "no pod had a node",
    "killed": "its pod was gone before the answer",
    "entry-down": "the users' node was down",
    "unanswered": "still under way at the end",
}


def unplaced(policies: Sequence[Policy]) -> Markup | None:
    """Pods without a node at the end of a run, by policy."""
    rows = []
    for policy in policies:
        pods = sorted({str(pod) for run in policy.runs for pod in run.get("unplaced") or ()})
        if pods:
            rows.append([policy.name, count(len(pods)), ", ".join(pods[:12]) + (" and more" if len(pods) > 12 else "")])
    if not rows:
        return None
    reading = "These pods fitted on no node when a run ended. The figures below are those of an incomplete application."
    body = table(["policy", "pods", "which"], rows, caption="Pods without a node", class_="words")
    return card("Pods without a node", body, reading=reading)


def failures(policies: Sequence[Policy], *, end: float) -> Markup | None:
    """Requests without an answer, by cause and over time."""
    sums = {policy.name: _causes(policy) for policy in policies}
    causes = sorted({cause for each in sums.values() for cause in each})
    if not causes:
        return None
    header = ["policy", *(_WORDS.get(cause, cause) for cause in causes)]
    rows = [[policy.name, *(count(sums[policy.name].get(cause, 0.0)) for cause in causes)] for policy in policies]
    by_cause = table(header, rows, caption="Failed requests by cause, all trials together")
    drawn = [line for policy in policies if (line := _line(policy, end)) is not None]
    picture = _chart(drawn, end) if drawn else None
    legend = policy_legend([(line.name, line.slot) for line in drawn], toggles=True) if drawn else None
    reading = "Requests that got no answer, by cause; below, failures per second over time (the mean over trials)."
    return card("Failed requests", by_cause, element("div", legend, picture), reading=reading)


def _causes(policy: Policy) -> dict[str, float]:
    found: dict[str, float] = {}
    for run in policy.runs:
        for cause, number_ in (run.get("failures") or {}).items():
            found[str(cause)] = found.get(str(cause), 0.0) + (number(number_) or 0.0)
    return {cause: total for cause, total in found.items() if total}


def _line(policy: Policy, end: float) -> Line | None:
    windows: dict[float, float] = {}
    for run in policy.runs:
        for entry in run.get("failures_series") or ():
            at = number(entry[0])
            if at is not None:
                windows[at] = windows.get(at, 0.0) + sum(number(each) or 0.0 for each in entry[1].values())
    if not windows:
        return None
    rates = {at: total / _WINDOW / len(policy.runs) for at, total in windows.items()}
    moments = sorted({*rates, *(at + _WINDOW for at in rates), *(max(0.0, at - _WINDOW) for at in rates), 0.0, end})
    return Line(policy.name, policy.slot, [Point(at, rates.get(at, 0.0)) for at in moments])


def _chart(drawn: Sequence[Line], end: float) -> Markup:
    x = Scale(0.0, max(end, *(point.x for line in drawn for point in line.points)))
    y = from_zero([point.y or 0.0 for line in drawn for point in line.points], least=0.01)
    moments = sorted({point.x for line in drawn for point in line.points})
    return chart(
        horizontal_grid(y, height=_HEIGHT, labels=[(tick, three_digits(tick)) for tick in y.ticks(3)]),
        vertical_axis_labels(x, height=_HEIGHT, labels=TimeAxis(x).labels()),
        lines(drawn, x=x, y=y, height=_HEIGHT, markers=False),
        height=_HEIGHT, label=f"Failed requests per second over time for {', '.join(line.name for line in drawn)}",
        hover=hover(x, drawn, head=[clock(each) for each in moments], unit="per s"),
    )  # fmt: skip
