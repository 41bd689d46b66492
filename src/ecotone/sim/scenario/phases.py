"""The phases of a scenario: stretches of time in which nothing that a placement should depend on changes.

A phase ends where load begins or ends, a link or a node changes, or a trace sets another number of replicas. `scenario_of`
makes a scenario of its own of one phase, with what was changed before it in force from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ecotone.sim.scenario.schema import Application, Load, NetworkSpec, Scenario

SETTLED = 120.0  # seconds of a phase in which nobody can know yet


@dataclass(frozen=True, slots=True)
class Phase:
    """From when to when, and which entries of the load meet it, by their number."""

    start: float
    end: float
    loads: tuple[int, ...]

    @property
    def length(self) -> float:
        return self.end - self.start


def phases(scenario: Scenario) -> list[Phase]:
    """Those in which there is any load, in order."""
    ends = {scenario.duration, *(change.at for change in scenario.link_changes)}
    ends |= {change.at for change in scenario.node_changes}
    ends |= {at for points in scenario.application.traces.values() for at, _ in points}
    for load in scenario.load:
        ends |= {load.at, load.at + load.length}
    times = sorted(each for each in ends if 0.0 <= each <= scenario.duration)
    found = []
    for start, end in zip([0.0, *times], times, strict=False):
        active = tuple(
            number
            for number, load in enumerate(scenario.load)
            if load.at < end and load.at + load.length > start and (load.users or load.poisson > 0.0)
        )
        if active and end > start:
            found.append(Phase(start, end, active))
    return found


def scenario_of(scenario: Scenario, phase: Phase, *, lead: float, share: float = 1.0) -> Scenario:
    """The first `share` of a phase, after `lead` seconds in which pods become ready; draws and numbers stay the same."""
    length = share * phase.length
    return replace(
        scenario,
        duration=lead + length,
        warmup=min(lead + max(0.0, scenario.warmup - phase.start), lead + 0.9 * length),
        load=tuple(_moved(load, number in phase.loads, lead, length) for number, load in enumerate(scenario.load)),
        network=_network(scenario, phase.start),
        application=_application(scenario.application, phase.start),
        link_changes=(),
        node_changes=tuple(
            replace(change, at=0.0)
            for change in {each.node: each for each in scenario.node_changes if each.at <= phase.start}.values()
        ),
    )


def _moved(load: Load, active: bool, lead: float, length: float) -> Load:
    return replace(load, at=lead, length=length) if active else replace(load, users=0, poisson=0.0)


def _network(scenario: Scenario, at: float) -> NetworkSpec:
    links = {tuple(sorted(pair)): link for pair, link in scenario.network.links}
    for change in scenario.link_changes:
        if change.at <= at:
            a, b = sorted(change.between)
            links[a, b] = replace(links.get((a, b), scenario.network.default), **dict(change.qualities))
    return replace(scenario.network, links=tuple(((a, b), link) for (a, b), link in links.items()))


def _application(application: Application, at: float) -> Application:
    replicas = {
        name: next((count for when, count in reversed(points) if when <= at), points[0][1])
        for name, points in application.traces.items()
        if points
    }
    services = tuple(replace(each, replicas=replicas.get(each.name, each.replicas)) for each in application.services)
    return replace(application, services=services, traces={})
