"""The cluster drawn: tiers one under the other, their nodes, and the round trips between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from ecotone.drawing.charts.frame import across, chart
from ecotone.drawing.html import Markup, element
from ecotone.drawing.numbers import ms, percent, shortened, three_digits
from ecotone.drawing.palette import TIERS, tier_of
from ecotone.drawing.tables import beside
from ecotone.experiments.report.distances import Distances
from ecotone.experiments.report.sections.card import card
from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.schema import Link, NodeSpec

_ROW = 62
_ABREAST = 3
_MOST = 24  # nodes of a tier that are drawn
_BETWEEN = 38
_HEAD = 26
_NAMES = {"other": "no tier"}


@dataclass(frozen=True, slots=True)
class _Tier:
    name: str
    nodes: Sequence[NodeSpec]
    top: float

    @property
    def shown(self) -> Sequence[NodeSpec]:
        return self.nodes[:_MOST]

    @property
    def height(self) -> float:
        return _HEAD + _ROW * -(-len(self.shown) // _ABREAST)

    def place(self, number: int) -> tuple[float, float]:
        """The middle of a node's box: share of the width, pixels down."""
        line, column = divmod(number, _ABREAST)
        abreast = min(_ABREAST, len(self.shown) - _ABREAST * line)
        return (column + 0.5) / abreast, self.top + _HEAD + _ROW * line + 25


def cluster(scenario: Scenario | None, colours: Mapping[str, str]) -> Markup | None:
    if scenario is None or not scenario.nodes:
        return None
    tiers = _tiers(scenario.nodes)
    distances = Distances(scenario.network)
    entries = {source for load in scenario.load for source in load.sources}
    bottom = tiers[-1].top + tiers[-1].height
    skips = _skipping(tiers, distances)
    picture = chart(
        [_band(tier, distances) for tier in tiers],
        [_neighbours(one, other, distances) for one, other in pairwise(tiers)],
        skips, _links(scenario, tiers),
        [_nodes(tier, colours, entries) for tier in tiers],
        height=bottom, left=6, right=62 if skips else 6, bottom=6, top=6,
        label=f"{len(scenario.nodes)} nodes in tiers: {', '.join(_NAMES.get(tier.name, tier.name) for tier in tiers)}",
    )  # fmt: skip
    reading = "Nodes by tier and the round trips between them; users enter at the nodes with a dot."
    return card("The cluster", picture, _tables(scenario), reading=reading)


def _tiers(nodes: Sequence[NodeSpec]) -> list[_Tier]:
    tiers: list[_Tier] = []
    top = 0.0
    for name in TIERS:
        members = [node for node in nodes if tier_of(node.tier) == name]
        if members:
            tiers.append(_Tier(name, members, top))
            top += tiers[-1].height + _BETWEEN
    return tiers


def _band(tier: _Tier, distances: Distances) -> Markup:
    inside = distances.range(tier.nodes, tier.nodes)
    more = len(tier.nodes) - len(tier.shown)
    words = [f"{len(tier.nodes)} node{'s' if len(tier.nodes) > 1 else ''}"]
    words += [f"{more} not drawn"] if more else []
    words += [f"{inside} between them"] if inside else []
    head = element(
        "text",
        element("tspan", _NAMES.get(tier.name, tier.name), class_="strong"),
        f"  {', '.join(words)}",
        x=10,
        y=tier.top + 17,
        class_="tick",
    )
    back = element("rect", x=0, y=tier.top, width="100%", height=tier.height, rx=10, class_=f"band {tier.name}0")
    return element("g", back, head)


def _neighbours(one: _Tier, other: _Tier, distances: Distances) -> Markup | None:
    found = distances.range(one.nodes, other.nodes)
    if found is None:
        return None
    top, bottom = one.top + one.height, other.top
    line = element("line", x1="50%", x2="50%", y1=top, y2=bottom, class_="link")
    return element("g", line, element("text", str(found), x="50%", y=(top + bottom) / 2 + 4, dx=8, class_="tick"))


def _skipping(tiers: Sequence[_Tier], distances: Distances) -> list[Markup]:
    """Between tiers that are not neighbours: brackets at the right."""
    if len(tiers) != 3:
        return []
    first, last = tiers[0], tiers[-1]
    found = distances.range(first.nodes, last.nodes)
    start, end = first.top + first.height / 2, last.top + last.height / 2
    bracket = element("path", d=f"M2 {start:g}h8q6 0 6 6V{end - 6:g}q0 6 -6 6h-8", class_="link open")
    middle = (start + end) / 2
    text = element(
        "text", str(found), x=22, y=middle + 4, class_="tick middle", transform=f"rotate(90 22 {middle:g})", dy=-8
    )
    return [element("svg", bracket, text, x="100%", y=0, width=1, height=1, overflow="visible")]


def _links(scenario: Scenario, tiers: Sequence[_Tier]) -> list[Markup]:
    """Links the scenario names, while they are few enough to be seen."""
    if len(scenario.network.links) > 12:
        return []
    places = {node.name: tier.place(number) for tier in tiers for number, node in enumerate(tier.shown)}
    drawn = []
    for (one, other), link in scenario.network.links:
        if one in places and other in places:
            (x, y), (end_x, end_y) = places[one], places[other]
            title = element("title", f"{one} – {other}: {ms(1000 * link.rtt)}")
            drawn.append(element("line", title, x1=across(x), x2=across(end_x), y1=y, y2=end_y, class_="link named"))
            if y == end_y:
                text = element(
                    "text", ms(1000 * link.rtt), x=across((x + end_x) / 2), y=y - 6, class_="tick middle wide"
                )
                drawn.append(text)
    return drawn


def _nodes(tier: _Tier, colours: Mapping[str, str], entries: set[str]) -> list[Markup]:
    return [
        _node(node, tier.place(number), len(tier.shown), colours, entries) for number, node in enumerate(tier.shown)
    ]


def _node(
    node: NodeSpec, place: tuple[float, float], abreast: int, colours: Mapping[str, str], entries: set[str]
) -> Markup:
    """A box as wide as there is room for, at most 104 pixels."""
    x, y = place
    colour = colours.get(node.name, "other0")
    half = 52 if abreast <= 2 else 43
    box = element("rect", x=-half, y=-21, width=2 * half, height=42, rx=7, class_="node")
    stripe = element("rect", x=-half, y=-21, width=5, height=42, rx=2, class_=colour)
    name = element("text", shortened(node.name, 2 * half // 8), x=3, y=-3, class_="middle strong")
    size = element("text", _size(node), x=3, y=12, class_="tick middle")
    dot = element("circle", element("title", f"users enter at {node.name}"), cx=half - 3, cy=-20, r=5, class_="entry")
    title = element("title", f"{node.name}: {_size(node)}")
    inside = element("g", title, box, stripe, name, size, dot if node.name in entries else None)
    return element("svg", inside, x=across(x), y=y, width=1, height=1, overflow="visible")


def _size(node: NodeSpec) -> str:
    return f"{three_digits(node.cpu / 1000)} CPU, {three_digits(node.memory / 2**30)} Gi"


def _tables(scenario: Scenario) -> Markup:
    nodes = [
        [
            node.name,
            node.tier or "–",
            three_digits(node.cpu / 1000),
            f"{three_digits(node.memory / 2**30)} GiB",
            f"{node.price:g}",
        ]
        for node in scenario.nodes
    ]
    links = [[f"{ends[0]} – {ends[1]}", *_qualities(link)] for ends, link in scenario.network.links]
    links.append(["any other pair", *_qualities(scenario.network.default)])
    return element(
        "div",
        beside(["node", "tier", "CPU", "memory", "price per hour"], nodes, caption="Nodes", name="Nodes as a table"),
        beside(["link", "round trip", "jitter", "bandwidth", "loss"], links, caption="Links", name="Links as a table"),
    )


def _qualities(link: Link) -> list[str]:
    bandwidth = f"{three_digits(link.bandwidth * 8 / 1e6)} Mbit/s" if isfinite(link.bandwidth) else "unlimited"
    return [ms(1000 * link.rtt), ms(1000 * link.jitter), bandwidth, percent(link.loss)]
