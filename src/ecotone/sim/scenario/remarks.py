"""What in a scenario has no effect, though its author meant something by it: told before a run, refused with `--strict`."""

from __future__ import annotations

from collections.abc import Iterator

from ecotone.manifests.spelling import nearest
from ecotone.sim.scenario.schema import Scenario

_TIERS = ("cloud", "fog", "edge")


def remarks(scenario: Scenario) -> list[str]:
    return [*_tiers(scenario), *_too_late(scenario)]


def _tiers(scenario: Scenario) -> Iterator[str]:
    for node in scenario.nodes:
        if node.tier is not None and node.tier not in _TIERS:
            near = nearest(node.tier, _TIERS)
            hint = f"did you mean {near}?" if near else "policies know cloud, fog and edge"
            yield f"node {node.name}: tier {node.tier!r} means nothing to any policy ({hint})"


def _too_late(scenario: Scenario) -> Iterator[str]:
    end = scenario.duration
    for load in scenario.load:
        if load.at >= end:
            yield f"load on {load.service}.{load.endpoint} begins at {load.at:g} s, when the scenario of {end:g} s is over"
    for link in scenario.link_changes:
        if link.at >= end:
            names = " - ".join(link.between)
            yield f"the link {names} changes at {link.at:g} s, when the scenario of {end:g} s is over"
    for change in scenario.node_changes:
        if change.at >= end:
            yield f"node {change.node} changes at {change.at:g} s, when the scenario of {end:g} s is over"
    for service, trace in scenario.application.traces.items():
        late = [at for at, _ in trace if at >= end]
        if late:
            yield f"the trace of {service} goes on at {late[0]:g} s, when the scenario of {end:g} s is over"
