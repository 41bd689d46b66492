"""How often services call each other, expected from the scenario alone.

Averaged over the whole run: each phase of load counts for its share of the time. Users who think between answers send at most
one request per thinking time, so for them the rates are upper bounds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.schema import Call, Load, Service

USERS = ""  # who calls the entry points


@dataclass(slots=True)
class PairTraffic:
    """What goes from one service to another. Calls and bytes (both directions) per second."""

    calls: float = 0.0
    bytes: float = 0.0
    detached: bool = True
    protocols: tuple[str, ...] = ()


Channels = dict[tuple[str, str], PairTraffic]


def channels(scenario: Scenario) -> Channels:
    """Every pair of services that the scenario connects, also where no load reaches it."""
    found: Channels = {}
    for service in scenario.application.services:
        for endpoint in service.endpoints.values():
            for stage in endpoint.stages:
                for call in stage:
                    _meet(found, service.name, call)
    known = {service.name: service for service in scenario.application.services}
    for load in scenario.load:
        rate = _rate(load) * min(load.length, max(0.0, scenario.duration - load.at)) / scenario.duration
        entry = found.setdefault((USERS, load.service), PairTraffic(detached=False))
        entry.calls += rate
        entry.bytes += rate * (load.request + load.response)
        arriving = {(load.service, load.endpoint): rate}
        for _ in range(64):  # as many hops as a chain of calls may have here
            arriving = _pass_on(arriving, known, found)
            if not arriving:
                break
    return found


def _pass_on(
    arriving: dict[tuple[str, str], float], known: Mapping[str, Service], found: Channels
) -> dict[tuple[str, str], float]:
    following: dict[tuple[str, str], float] = {}
    for (service, endpoint), rate in arriving.items():
        for stage in known[service].endpoints[endpoint].stages:
            for call in stage:
                calls = rate * call.probability * call.count
                channel = found[(service, call.service)]
                channel.calls += calls
                channel.bytes += calls * (call.request + call.response)
                key = (call.service, call.endpoint)
                following[key] = following.get(key, 0.0) + calls
    return following


def _meet(found: Channels, source: str, call: Call) -> None:
    channel = found.setdefault((source, call.service), PairTraffic())
    channel.detached = channel.detached and call.detached
    if call.protocol not in channel.protocols:
        channel.protocols = (*channel.protocols, call.protocol)


def _rate(load: Load) -> float:
    period = load.every if load.every is not None else load.think
    return load.poisson + (load.users / period if load.users and period else 0.0)
