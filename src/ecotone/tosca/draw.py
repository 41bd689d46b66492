"""The application graph for people: text for the terminal, DOT for Graphviz, SVG for a browser.

All three put services in columns by their index, entry points first, so that requests run in reading direction.
"""

from __future__ import annotations

from html import escape

from ecotone.tosca.application import Channel
from ecotone.tosca.graph import ApplicationGraph, GraphService

_BOX_WIDTH, _BOX_HEIGHT = 170, 40
_GAP_X, _GAP_Y, _MARGIN = 110, 26, 24


def as_text(graph: ApplicationGraph) -> str:
    """A tree per level: each service with the channels that leave it."""
    outgoing: dict[str, list[Channel]] = {}
    for channel in graph.channels:
        outgoing.setdefault(channel.source, []).append(channel)
    external = {service.name for service in graph.services if service.external}
    lines = [f"{graph.name}: {len(graph.services)} services, {len(graph.channels)} channels"]
    width = max((len(str(service.index)) for service in graph.services), default=1)
    for service in _ranked(graph):
        lines.append(f"{service.index:>{width}}  {_shown(service.name, external)}")
        leaving = outgoing.get(service.name, [])
        for position, channel in enumerate(leaving):
            branch = "└─" if position == len(leaving) - 1 else "├─"
            lines.append(f"{'':>{width}}  {branch} {_label(channel)} ─▶ {_shown(channel.target, external)}")
    return "\n".join(lines) + "\n"


def as_dot(graph: ApplicationGraph) -> str:
    """A directed graph for Graphviz; external services dashed, asynchronous channels dotted."""
    lines = [f"digraph {_quoted(graph.name)} {{", "  rankdir=LR;", "  node [shape=box, style=rounded];"]
    for service in graph.services:
        style = ', style="rounded,dashed"' if service.external else ""
        lines.append(f"  {_quoted(service.name)} [label={_quoted(f'{service.name} ({service.index})')}{style}];")
    for channel in graph.channels:
        style = ", style=dotted" if channel.asynchronous else ""
        ends = f"{_quoted(channel.source)} -> {_quoted(channel.target)}"
        lines.append(f"  {ends} [label={_quoted(_label(channel))}{style}];")
    return "\n".join([*lines, "}"]) + "\n"


def as_svg(graph: ApplicationGraph) -> str:
    """A self-contained drawing in columns by index."""
    places = _places(graph)
    columns = max((x for x, _ in places.values()), default=0) + _BOX_WIDTH + _MARGIN
    rows = max((y for _, y in places.values()), default=0) + _BOX_HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {columns} {rows}" width="{columns}" height="{rows}" '
        f'font-family="sans-serif" font-size="12">',
        f"<title>{escape(graph.name)}</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#555"/></marker></defs>',
    ]
    parts += [_edge(channel, places) for channel in graph.channels]
    parts += [_box(service, *places[service.name]) for service in graph.services]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _places(graph: ApplicationGraph) -> dict[str, tuple[int, int]]:
    levels: dict[int, int] = {}
    columns = {index: column for column, index in enumerate(sorted({service.index for service in graph.services}))}
    places = {}
    for service in graph.services:
        row = levels.get(service.index, 0)
        levels[service.index] = row + 1
        x = _MARGIN + columns[service.index] * (_BOX_WIDTH + _GAP_X)
        places[service.name] = (x, _MARGIN + row * (_BOX_HEIGHT + _GAP_Y))
    return places


def _box(service: GraphService, x: int, y: int) -> str:
    dashes = ' stroke-dasharray="5 3"' if service.external else ""
    return (
        f'<g><rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="8" fill="#f6f8fa" '
        f'stroke="#345"{dashes}/>'
        f'<text x="{x + _BOX_WIDTH // 2}" y="{y + 25}" text-anchor="middle">{escape(service.name)}</text></g>'
    )


def _edge(channel: Channel, places: dict[str, tuple[int, int]]) -> str:
    (x1, y1), (x2, y2) = places[channel.source], places[channel.target]
    middle = _BOX_HEIGHT // 2
    if x2 > x1:
        start, end = (x1 + _BOX_WIDTH, y1 + middle), (x2, y2 + middle)
        bend = (start[0] + end[0]) // 2
        path = f"M{start[0]} {start[1]}C{bend} {start[1]} {bend} {end[1]} {end[0]} {end[1]}"
    else:
        start, end = (x1 + _BOX_WIDTH // 2, y1 + _BOX_HEIGHT), (x2 + _BOX_WIDTH // 2, y2 + _BOX_HEIGHT)
        low = max(start[1], end[1]) + _GAP_Y
        path = f"M{start[0]} {start[1]}C{start[0]} {low} {end[0]} {low} {end[0]} {end[1]}"
    dashes = ' stroke-dasharray="2 3"' if channel.asynchronous else ""
    width = 1 + channel.priority / 50 if channel.priority <= 200 else 5
    return (
        f'<path d="{path}" fill="none" stroke="#555" stroke-width="{width:g}" marker-end="url(#tip)"{dashes}>'
        f"<title>{escape(f'{channel.source} → {channel.target}: {_label(channel)}')}</title></path>"
    )


def _label(channel: Channel) -> str:
    deadline = f" ≤ {channel.deadline_ms:g} ms" if channel.deadline_ms is not None else ""
    return f"{channel.type} {channel.priority}{deadline}{' (soft)' if deadline and channel.soft else ''}"


def _shown(name: str, external: set[str]) -> str:
    return f"{name} (external)" if name in external else name


def _ranked(graph: ApplicationGraph) -> list[GraphService]:
    position = {service.name: i for i, service in enumerate(graph.services)}
    return sorted(graph.services, key=lambda service: (service.index, position[service.name]))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
