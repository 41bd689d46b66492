"""Where every pod was: a lane per service, time to the right, the node as colour.

A lane with pods on several nodes is shared out among them by their number. Samples that repeat are one piece, and a long run is
looked at at so many moments only, so that the drawing's size depends on what happened and not on how often somebody looked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ecotone.drawing.charts.frame import UNITS, across, stretched
from ecotone.drawing.charts.scale import Scale
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import clock, percent, shortened

MOST_MOMENTS = 240
MOST_LANES = 40
LANE = 20
_BAR = 15
_CROWD = 16  # marks in one lane beyond which they are drawn small
_LABEL_FROM = 0.14  # a piece shorter than this share of the width has no room for its node's name

Where = Mapping[str, int]  # node -> pods


@dataclass(frozen=True, slots=True)
class Piece:
    """From start to end the pods of a service were just so."""

    start: float
    end: float
    where: Where


def pieces(samples: Sequence[tuple[float, Where]], end: float) -> list[Piece]:
    """Samples in the order of time, each holding until the next."""
    found: list[Piece] = []
    for index, (at, where) in enumerate(samples):
        until = samples[index + 1][0] if index + 1 < len(samples) else max(end, at)
        if found and found[-1].where == where:
            found[-1] = Piece(found[-1].start, until, where)
        else:
            found.append(Piece(at, until, where))
    return found


def lanes(
    services: Mapping[str, Sequence[Piece]],
    *,
    x: Scale,
    colours: Mapping[str, str],
    marks: Mapping[str, Sequence[tuple[float, str]]],
) -> list[Markup]:
    """`marks` are moments in a service's lane with what is to be said of each."""
    drawn: list[Markup] = []
    for index, (service, found) in enumerate(services.items()):
        top = index * LANE
        bars = stretched(_bars(service, found, x, colours), height=_BAR)
        name = element("text", shortened(service, 14), element("title", service), x=-10, y=12, class_="name small end")
        found_here = marks.get(service, ())
        moved = [_mark(x.at(at), said, small=len(found_here) > _CROWD) for at, said in found_here]
        drawn.append(element("g", name, bars, _labels(found, x, colours), moved, transform=f"translate(0 {top})"))
    return drawn


def _bars(service: str, found: Sequence[Piece], x: Scale, colours: Mapping[str, str]) -> list[Markup]:
    """One shape per node, however often the service was there."""
    shapes: dict[str, list[str]] = {}
    spent: dict[str, float] = {}
    spans: dict[str, list[str]] = {}
    whole = sum(piece.end - piece.start for piece in found) or 1.0
    for piece in found:
        pods, y = sum(piece.where.values()), 0.0
        start, width = UNITS * x.at(piece.start), UNITS * (x.at(piece.end) - x.at(piece.start))
        for node, number in sorted(piece.where.items()):
            tall = _BAR * number / pods
            shapes.setdefault(node, []).append(f"M{start:.0f} {y:.1f}h{width:.0f}v{tall:.1f}h-{width:.0f}z")
            spent[node] = spent.get(node, 0.0) + (piece.end - piece.start) * number / pods
            spans.setdefault(node, []).append(f"{clock(piece.start)}–{clock(piece.end)}")
            y += tall
    return [
        element("path", element("title", _said(service, node, spent[node] / whole, spans[node])), d="".join(parts),
                class_=f"piece {colours.get(node, 'other0')}")
        for node, parts in sorted(shapes.items())
    ]  # fmt: skip


def _said(service: str, node: str, share: float, spans: Sequence[str]) -> str:
    more = f" and {len(spans) - 6} more times" if len(spans) > 6 else ""
    return f"{service} on {node}, {percent(share)} of the time: {', '.join(spans[:6])}{more}"


def _labels(found: Sequence[Piece], x: Scale, colours: Mapping[str, str]) -> list[Markup]:
    """The node's name, inside the piece, where all pods are on one node and there is room."""
    drawn = []
    for piece in found:
        start, width = x.at(piece.start), x.at(piece.end) - x.at(piece.start)
        if width >= _LABEL_FROM and len(piece.where) == 1:
            node = next(iter(piece.where))
            text = element("text", node, x=5, y=11, class_=f"inside on-{colours.get(node, 'other0')}")
            drawn.append(element("svg", text, x=across(start), width=across(width), y=0, height=_BAR))
    return drawn


def _mark(index: float, said: str, *, small: bool) -> Markup:
    way = "M-1.5 -4h3v4h-3z" if small else "M-4 -3h8l-4 7z"
    shape = element("path", element("title", said), d=way, class_="moved")
    return element("svg", shape, x=across(index), y=0, overflow="visible", width=1, height=1)
