"""Where every pod was over time, one picture per policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ecotone.drawing.charts.frame import chart, vertical_axis_labels
from ecotone.drawing.charts.legend import legend
from ecotone.drawing.charts.scale import Scale, TimeAxis
from ecotone.drawing.charts.swimlanes import LANE, MOST_LANES, MOST_MOMENTS, Piece, Where, lanes, pieces
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import clock, count, number, percent
from ecotone.drawing.tables import beside
from ecotone.experiments.report.results import Policy
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.timeline import moves
from ecotone.sim.scenario import Scenario

Samples = list[tuple[float, Mapping[str, Where]]]


def mentioned_nodes(policies: Sequence[Policy]) -> list[str]:
    """Nodes that pods were seen on or that were measured, by name."""
    found: set[str] = set()
    for policy in policies:
        for run in policy.runs[:1]:
            found.update(run.get("utilisation") or ())
        for _, placement in _samples(policy.example):
            found.update(node for where in placement.values() for node in where)
    return sorted(found)


def where_pods_were(
    policies: Sequence[Policy],
    *,
    end: float,
    services: Sequence[str],
    colours: Mapping[str, str],
    users: Sequence[Piece] = (),
) -> Markup | None:
    """`users` is where they enter and when: the lane that the others should follow."""
    figures = [figure for policy in policies if (figure := _figure(policy, end, services, colours, users)) is not None]
    if not figures:
        return None
    reading = "Each lane is a service, its colour the node that runs it; a lane with several pods is shared out. "
    if users:
        reading += "The first lane shows where users enter: the more of the other lanes share its colour, the nearer they are. "
    reading += "Triangles mark moves; a gap is a time without a pod."
    if any(len(policy.runs) > 1 for policy in policies):
        reading += " The trial shown is each policy's middle one by p95."
    shown = list(colours.items())
    more = len(shown) - 24
    key = legend([*shown[:24], *([(f"{more} more nodes", "other3")] if more > 0 else [])])
    return card("Where every pod was", key, element("div", figures, class_="multiples"), reading=reading)


def users_lane(scenario: Scenario | None) -> list[Piece]:
    """Where users enter over time, each node by its share of the requests' sources."""
    if scenario is None or not scenario.load:
        return []
    moments = sorted({at for load in scenario.load for at in (load.at, min(scenario.duration, load.at + load.length))})
    found = []
    for start, until in pairwise(moments):
        here: dict[str, int] = {}
        for load in scenario.load:
            if load.at <= start and until <= load.at + load.length:
                for node in load.sources:
                    here[node] = here.get(node, 0) + 1
        found.append(Piece(start, until, here))
    return found


def _figure(
    policy: Policy, end: float, order: Sequence[str], colours: Mapping[str, str], users: Sequence[Piece]
) -> Markup | None:
    run = policy.example
    samples = _samples(run)
    if run is None or not samples:
        return None
    by_service = _lanes(samples, end, order)
    first = {"users enter at": users} if users else {}
    drawn: dict[str, Sequence[Piece]] = {**first, **dict(list(by_service.items())[:MOST_LANES])}
    x = Scale(0.0, max(end, samples[-1][0], 1.0))
    marks: dict[str, list[tuple[float, str]]] = {}
    for move in moves(run)[:1000]:
        said = f"{clock(float(move['at']))} {move.get('service', '')}: {move.get('from', '?')} → {move.get('to', '?')}"
        marks.setdefault(str(move.get("service", "")), []).append((float(move["at"]), said))
    height = LANE * len(drawn)
    picture = chart(
        vertical_axis_labels(x, height=height, labels=TimeAxis(x).labels(), lines=True),
        lanes(drawn, x=x, colours=colours, marks={name: found[:100] for name, found in marks.items()}),
        height=height, left=104, label=f"Where the pods of each service were over time under {policy.name}",
    )  # fmt: skip
    name = element("h3", element("span", policy.name, class_=f"policy c{policy.slot}"), " ", _subtitle(run, policy))
    hidden = len(by_service) - len(drawn) + len(first)
    note = element("p", f"{hidden} more services are not drawn.", class_="note") if hidden > 0 else None
    return element("figure", name, picture, note, _table(policy, by_service))


def _subtitle(run: Mapping[str, Any], policy: Policy) -> Markup:
    words = [f"trial {run['trial']}"] if len(policy.runs) > 1 and "trial" in run else []
    evictions = number(run.get("evictions"))
    if evictions is not None:
        words.append("no move" if evictions == 0 else f"{count(evictions)} move{'s' if evictions != 1 else ''}")
    return element("small", ", ".join(words))


def _samples(run: Mapping[str, Any] | None) -> Samples:
    """At most so many, evenly chosen."""
    entries = (run or {}).get("placement") or ()
    step = -(-len(entries) // MOST_MOMENTS) or 1
    return [(at, entry[1]) for entry in entries[::step] if (at := number(entry[0])) is not None]


def _lanes(samples: Samples, end: float, order: Sequence[str]) -> dict[str, list[Piece]]:
    """In the scenario's order of services, then the rest by name."""
    seen = {service for _, placement in samples for service in placement}
    names = [name for name in order if name in seen] + sorted(seen.difference(order))
    return {name: pieces([(at, _pods(placement.get(name))) for at, placement in samples], end) for name in names}


def _pods(where: Where | None) -> Where:
    return {str(node): pods for node, pods in (where or {}).items() if isinstance(pods, int) and pods > 0}


def _table(policy: Policy, by_service: Mapping[str, Sequence[Piece]]) -> Markup:
    rows = []
    for service, found in by_service.items():
        spent: dict[str, float] = {}
        for piece in found:
            pods = sum(piece.where.values())
            for node, number_ in piece.where.items():
                spent[node] = spent.get(node, 0.0) + (piece.end - piece.start) * number_ / pods
        whole = sum(piece.end - piece.start for piece in found) or 1.0
        most = sorted(spent.items(), key=lambda each: (-each[1], each[0]))[:5]
        rows.append(
            [service, ", ".join(f"{node} {percent(seconds / whole)}" for node, seconds in most), max(0, len(found) - 1)]
        )
    return beside(
        ["service", "share of the time on", "changes"], rows, caption=f"Where services ran under {policy.name}"
    )
