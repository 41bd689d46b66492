"""The 95th percentile over the run's time, per policy, with every move marked below it."""

from __future__ import annotations

from collections.abc import Sequence

from ecotone.drawing.charts.frame import across, chart, horizontal_grid, vertical_axis_labels
from ecotone.drawing.charts.hover import hover
from ecotone.drawing.charts.legend import policy_legend
from ecotone.drawing.charts.line import Line, lines, same
from ecotone.drawing.charts.scale import Scale, TimeAxis, from_zero
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import clock, count, ms, shortened, three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.timeline import Happening, Phase, moves, trials_over_time

_HEIGHT = 260
_LANE = 18
_GAP = 16
_MOST_TICKS = 400
LEFT = 104


def over_time(
    policies: Sequence[Policy], *, end: float, phases: Sequence[Phase], happenings: Sequence[Happening]
) -> Markup | None:
    drawn = [Line(each.name, each.slot, points) for each in policies if (points := trials_over_time(each))]
    if not drawn:
        return None
    x = Scale(0.0, end)
    y = from_zero(
        [value for line in drawn for point in line.points for value in (point.y, point.high) if value is not None]
    )
    moving = [each for each in policies if any(moves(run) for run in each.runs)]
    below = _GAP + _LANE * len(moving) if moving else 0
    moments = sorted({point.x for line in drawn for point in line.points})
    picture = chart(
        _ground(phases, x, _HEIGHT + below),
        horizontal_grid(y, height=_HEIGHT, labels=[(tick, three_digits(tick)) for tick in y.ticks()]),
        vertical_axis_labels(x, height=_HEIGHT + below, labels=TimeAxis(x).labels()),
        _happenings(happenings, x),
        lines(drawn, x=x, y=y, height=_HEIGHT, markers=False),
        [_lane(each, x, _HEIGHT + _GAP + _LANE * place) for place, each in enumerate(moving)],
        height=_HEIGHT + below, top=30, left=LEFT,
        label=f"95th percentile of the response time over time for {', '.join(line.name for line in drawn)}",
        hover=hover(x, drawn, head=[clock(each) for each in moments]),
    )  # fmt: skip
    legend = policy_legend([(line.name, line.slot) for line in drawn], toggles=True)
    reading = _reading(policies, moving, phases, y) + same(drawn)
    return card("Over time", legend, picture, _table(drawn), reading=reading)


def _reading(policies: Sequence[Policy], moving: Sequence[Policy], phases: Sequence[Phase], y: Scale) -> str:
    parts = [
        "95th percentile of the response time, in milliseconds" + (" on a logarithmic scale" if y.logarithmic else "")
    ]
    if any(len(each.runs) > 1 for each in policies):
        parts.append("the line is the middle trial at each moment, the band runs from the lowest trial to the highest")
    if phases:
        parts.append("numbers at the top are the phases of load")
    if moving:
        parts.append("each tick below is a move" + (" in one of the trials" if len(policies[0].runs) > 1 else ""))
    return "; ".join(parts) + "."


def _ground(phases: Sequence[Phase], x: Scale, height: float) -> list[Markup]:
    """Every second phase shaded, its number and what it asks for on top; those at the same time share a place."""
    together: dict[tuple[float, float], list[Phase]] = {}
    for each in phases:
        together.setdefault((each.start, each.end), []).append(each)
    marks = []
    for place, ((start, end), found) in enumerate(list(together.items())[:24]):
        left, width = across(x.at(start)), across(x.at(end) - x.at(start))
        if place % 2:
            marks.append(element("rect", x=left, width=width, y=0, height=height, class_="shade"))
        numbers = f"{found[0].number}" if len(found) == 1 else f"{found[0].number}–{found[-1].number}"
        said = f"  {found[0].call}" if len(found) == 1 else f"  {len(found)} APIs at once"
        words = element("tspan", said, class_="wide") if x.at(end) - x.at(start) > 0.1 else None
        text = element("text", element("tspan", numbers, class_="strong"), words, x=4, y=14, class_="tick")
        title = element("title", "; ".join(each.title for each in found))
        marks.append(element("svg", title, text, x=left, width=width, y=-22, height=20))
    return marks


def _happenings(happenings: Sequence[Happening], x: Scale) -> list[Markup]:
    marks = []
    for each in happenings[:24]:
        place = across(x.at(each.at))
        title = element("title", f"{clock(each.at)} {each.what}")
        marks.append(element("line", title, x1=place, x2=place, y1=0, y2=_HEIGHT, class_="happening"))
        late = x.at(each.at) > 0.7  # words to the left of the line, or they would leave the picture
        words = {"dx": -4, "class_": "tick strong wide end"} if late else {"dx": 4, "class_": "tick strong wide"}
        marks.append(element("text", shortened(each.what, 48), x=place, y=12, **words))
    return marks


def _lane(policy: Policy, x: Scale, top: float) -> Markup:
    found = [move for run in policy.runs for move in moves(run)]
    ticks = []
    for move in found[:_MOST_TICKS]:
        place = across(x.at(float(move["at"])))
        said = f"{clock(float(move['at']))} {move.get('service', '')}: {move.get('from', '?')} → {move.get('to', '?')}"
        ticks.append(element("line", element("title", said), x1=place, x2=place, y1=top + 3, y2=top + _LANE - 3))
    base = element("line", x1="0", x2="100%", y1=top + _LANE / 2, y2=top + _LANE / 2, class_="grid")
    name = element(
        "text", shortened(policy.name, 12), element("title", f"{policy.name}: {count(len(found))} moves in all trials"),
        x=-10, y=top + _LANE / 2 + 4, class_=f"name small end f{policy.slot}",
    )  # fmt: skip
    faint = " faint" if len(policy.runs) > 1 else ""
    return element("g", base, name, element("g", ticks, class_=f"eviction s{policy.slot}{faint}"))


def _table(drawn: Sequence[Line]) -> Markup:
    """One row a moment, at most sixty."""
    moments = sorted({point.x for line in drawn for point in line.points if point.y is not None})
    chosen = moments[:: max(1, -(-len(moments) // 60))]
    values = [{point.x: point.y for point in line.points} for line in drawn]
    rows = [[clock(at), *(ms(known.get(at)) for known in values)] for at in chosen]
    return beside(["time", *(line.name for line in drawn)], rows, caption="95th percentile over time")
