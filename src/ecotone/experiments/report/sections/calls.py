"""The application drawn: who calls whom, and how much."""

from __future__ import annotations

from math import sqrt

from ecotone.drawing.charts.graph import Box, Curve, graph
from ecotone.drawing.html import Markup
from ecotone.drawing.numbers import three_digits
from ecotone.drawing.tables import beside
from ecotone.experiments.report.sections.card import card
from ecotone.experiments.report.traffic import USERS, PairTraffic, channels
from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.schema import Service

_MOST = 80


def calls(scenario: Scenario | None) -> Markup | None:
    if scenario is None or not scenario.application.services:
        return None
    found = channels(scenario)
    services = scenario.application.services[:_MOST]
    names = {service.name for service in services}
    entered = any(source == USERS for source, _ in found)
    boxes = [Box(USERS, "users", "users of the application", "box users")] if entered else []
    boxes += [Box(service.name, service.name, _title(service), _kind(service)) for service in services]
    most = max((channel.calls for channel in found.values()), default=0.0) or 1.0
    curves = [
        Curve(ends, 1.2 + 5.0 * sqrt(channel.calls / most), _said(ends, channel), dashed=channel.detached)
        for ends, channel in sorted(found.items())
        if ends[1] in names and (ends[0] in names or ends[0] == USERS)
    ]
    picture = graph(boxes, curves, label=f"Call graph of {scenario.application.name}: {len(services)} services")
    rows = [[_ends(ends), *_cells(channel)] for ends, channel in sorted(found.items())]
    table = beside(
        ["call", "per second", "traffic", "protocol", "caller waits"], rows, caption="Calls between services"
    )
    reading = "Services and their calls; the thicker, the more calls per second over the whole run. "
    reading += "Dashed arrows are calls nobody waits for, dashed boxes are outside the cluster."
    return card("The application", picture, table, reading=reading)


def _cells(channel: PairTraffic) -> list[str]:
    protocols = ", ".join(channel.protocols) or "–"
    return [three_digits(channel.calls), _rate(channel.bytes), protocols, "no" if channel.detached else "yes"]


def _kind(service: Service) -> str:
    return "box outside" if service.external else "box"


def _title(service: Service) -> str:
    words = [service.name]
    if service.replicas != 1:
        words.append(f"{service.replicas} replicas")
    if service.cpu_request is not None:
        words.append(f"{service.cpu_request}m CPU requested")
    if service.pinned:
        words.append(f"pinned to {service.pinned}")
    if service.external:
        words.append("outside the cluster")
    return ", ".join(words)


def _said(ends: tuple[str, str], channel: PairTraffic) -> str:
    return f"{_ends(ends)}: {three_digits(channel.calls)} calls per second, {_rate(channel.bytes)}"


def _ends(ends: tuple[str, str]) -> str:
    return f"{ends[0] or 'users'} → {ends[1]}"


def _rate(bytes_per_second: float) -> str:
    for unit, size in (("MB/s", 1e6), ("kB/s", 1e3)):
        if bytes_per_second >= size:
            return f"{three_digits(bytes_per_second / size)} {unit}"
    return f"{three_digits(bytes_per_second)} B/s"
