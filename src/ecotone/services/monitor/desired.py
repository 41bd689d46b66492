"""From figures to what each object should say. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ecotone.manifests import keys
from ecotone.services.monitor.annotations import SCALAR, Measured
from ecotone.telemetry.dialects.base import USERS, Rates
from ecotone.telemetry.families import Figure
from ecotone.telemetry.nodes import AXES, NodeFigures
from ecotone.telemetry.refs import Ref

PAIRS_LIMIT = 200
"""Nodes up to which each carries its latencies to all others; above, coordinates stand for them."""


def node_measured(figures: NodeFigures, *, nodes: Collection[str], pairs: bool) -> dict[str, Measured]:
    """The annotations' values of one node. Without ``pairs`` written latencies are taken off at once."""
    found = {
        keys.AVAILABLE_CPU: _one(figures.cpu, scale=1000.0),
        keys.AVAILABLE_MEMORY: _one(figures.memory),
    }
    if pairs:
        found[keys.LATENCIES] = Measured(figures.latencies, carries=nodes.__contains__)
    else:
        found[keys.LATENCIES] = Measured(carries=_nothing)
        found[keys.COORDINATES] = _coordinates(figures.coordinates)
    return found


def _nothing(_: str) -> bool:
    return False


def _one(figure: Figure | None, *, scale: float = 1.0) -> Measured:
    return Measured({} if figure is None else {SCALAR: Figure(figure.value * scale, figure.at)})


def _coordinates(found: Mapping[str, Figure]) -> Measured:
    """All axes of one measurement or none: half a vector is no place."""
    axes = sum(name in found for name in AXES)
    whole = axes > 0 and all(str(number) in found for number in range(axes)) and "height" in found and "error" in found
    return Measured(found if whole else {})


@dataclass(slots=True)
class WorkloadFigures:
    cpu: Figure | None = None
    """Cores per pod."""
    memory: Figure | None = None
    """Bytes per pod."""
    traffic: dict[str, Figure] = field(default_factory=dict)
    requests: dict[str, Figure] = field(default_factory=dict)
    calls: dict[str, Figure] = field(default_factory=dict)


def workload_figures(
    members: Iterable[Ref], *, cpu: Mapping[Ref, Figure], memory: Mapping[Ref, Figure], rates: Rates
) -> dict[Ref, WorkloadFigures]:
    """Per workload of the group what it uses and whom it talks to; both ends of a pair are told."""
    found = {member: WorkloadFigures(cpu.get(member), memory.get(member)) for member in members}
    for (source, target), figure in (rates.bytes or {}).items():
        for own, peer in ((source, target), (target, source)):
            if own in found:
                _add(found[own].traffic, peer_name(own, peer), figure)
    for (source, target), figure in (rates.requests or {}).items():
        for own, peer in ((source, target), (target, source)):
            if own in found:
                _add(found[own].requests, peer_name(own, peer), figure)
        if source in found:
            _add(found[source].calls, peer_name(source, target), figure)
    return found


def peer_name(own: Ref, peer: Ref) -> str:
    """How an annotation calls a peer: its name, with the namespace if that is another one."""
    return (
        peer.name if peer.name.startswith(USERS) or peer.namespace == own.namespace else f"{peer.namespace}/{peer.name}"
    )


def _add(table: dict[str, Figure], peer: str, figure: Figure) -> None:
    before = table.get(peer)
    # A calls B and B calls A: one conversation, added up.
    table[peer] = figure if before is None else Figure(before.value + figure.value, min(before.at, figure.at))


def workload_measured(figures: WorkloadFigures, *, carries: Callable[[str], bool]) -> dict[str, Measured]:
    """The annotations' values of one workload; ``carries`` is False for a peer that no longer exists."""
    return {
        keys.CPU_USAGE: _one(figures.cpu, scale=1000.0),
        keys.MEMORY_USAGE: _one(figures.memory),
        keys.TRAFFIC: Measured(figures.traffic, carries, zero_is_absent=True),
        keys.REQUESTS: Measured(figures.requests, carries, zero_is_absent=True),
        keys.CALLS: Measured(figures.calls, carries, zero_is_absent=True),
    }
