"""Pogonip's optimum: both placement problems solved exactly, in order of importance.

Applications placed, microservices kept on the edge, edge nodes in use, delay; then the price of the cloud for what
was forwarded. The paper adds the cost of edge nodes and the number of forwarded microservices into one sum, in which
renting the cloud can be as good as opening a node, says nothing about delay, and has no answer at all when one queue
does not fit. Here forwarding always weighs more than any number of nodes, delay decides among what the paper calls
optimal, and what cannot be placed is rejected with a reason. Edge nodes count one each, as in the paper's
experiments.

The heuristics run first. Their answer bounds every stage, is returned if nothing better is found in time, and so the
result is never worse than theirs. `stages` say for every objective what was reached, what was proven and the gap.

Exactness. The delay stage knows the cloud by the nearest host a component may use: exact when cloud hosts are equally
far from a queue, as in the paper; otherwise delay to the cloud may come out longer than the stage says, and the
price, not the delay, picks the host. With a time limit the answer depends on the machine's speed; without one it does
not.
"""

from dataclasses import dataclass
from typing import Literal

from ecotone.placement.aggregated_model import CLOUD, AggregatedModel, Dealt
from ecotone.placement.checker import violations
from ecotone.placement.cloud_model import Forwarded, rent
from ecotone.placement.improved_greedy import improved_greedy
from ecotone.placement.instance import Instance
from ecotone.placement.ledger import Ledger
from ecotone.placement.milp import Clock, Outcome, Stage, lexicographic
from ecotone.placement.pogonip import pogonip
from ecotone.placement.reasons import explain
from ecotone.placement.solution import Figures, Placement, better, figures


@dataclass(frozen=True, slots=True)
class Exact:
    """The placement, how far each objective was proven, and whose answer it is."""

    placement: Placement
    stages: tuple[Stage, ...]
    source: Literal["model", "heuristic"]

    @property
    def proven(self) -> bool:
        return all(stage.status == "optimal" for stage in self.stages)


def pogonip_opt(
    instance: Instance, *, time_limit: float | None = 60.0, gap: float = 0.0, clock: Clock | None = None
) -> Exact:
    """`clock` (seconds, any origin) lets one time limit cover all stages; without it each gets an equal share."""
    begin = clock() if clock is not None else 0.0
    warm = better(instance, improved_greedy(instance), pogonip(instance))
    known = figures(instance, warm)

    def left() -> float | None:
        if time_limit is None or clock is None:
            return time_limit
        return max(time_limit - (clock() - begin), 0.05)

    for pack_cloud in (False, True):
        outcome, dealt = _edge(instance, known, pack_cloud=pack_cloud, time_limit=left(), gap=gap, clock=clock)
        if dealt is None:
            return _finish(instance, warm, None, outcome.stages, gap=gap, time_limit=left(), clock=clock)
        answer = _with_cloud(instance, dealt, gap=gap, time_limit=left(), clock=clock)
        if answer is not None:
            placement, stage = answer
            return _finish(instance, warm, placement, (*outcome.stages, stage), gap=gap, time_limit=left(), clock=clock)
    return _finish(instance, warm, None, outcome.stages, gap=gap, time_limit=left(), clock=clock)


def _edge(
    instance: Instance, known: Figures, *, pack_cloud: bool, time_limit: float | None, gap: float, clock: Clock | None
) -> tuple[Outcome, Dealt | None]:
    model = AggregatedModel(instance, pack_cloud=pack_cloud)
    outcome = lexicographic(
        model.model,
        [model.rejected(), model.forwarded(), model.nodes(), model.latency()],
        known=[known.apps_rejected, known.forwarded_to_cloud, known.edge_nodes_used, known.latency_total_ms],
        time_limit=time_limit,
        clock=clock,
        gap=gap,
    )
    return outcome, None if outcome.x is None else model.deal(outcome.x)


def _with_cloud(
    instance: Instance, dealt: Dealt, *, time_limit: float | None, gap: float, clock: Clock | None
) -> tuple[Placement, Stage] | None:
    """Gives every forwarded microservice a cloud host; None when they do not pack."""
    items = [
        Forwarded(application=a, position=i, queue=hosts[0])
        for a, hosts in enumerate(dealt.hosts)
        if hosts is not None
        for i, host in enumerate(hosts)
        if host == CLOUD
    ]
    rented = rent(instance, items, time_limit=time_limit, gap=gap, clock=clock)
    if rented.hosts is None:
        return None
    found = rented.hosts
    hosts = tuple(
        None if row is None else tuple(found.get((a, i), host) for i, host in enumerate(row))
        for a, row in enumerate(dealt.hosts)
    )
    return Placement(hosts=hosts, reasons=_reasons(instance, hosts)), rented.stage


def _reasons(instance: Instance, hosts: tuple[tuple[int, ...] | None, ...]) -> dict[str, str]:
    if all(row is not None for row in hosts):
        return {}
    ledger = Ledger(instance)
    for application, row in zip(instance.applications, hosts, strict=True):
        if row is not None:
            for component, host in zip(application.components, row, strict=True):
                if component.pinned is None:
                    ledger.take(component, host)
    return {
        application.name: explain(instance, application, ledger)
        for application, row in zip(instance.applications, hosts, strict=True)
        if row is None
    }


def _finish(
    instance: Instance,
    warm: Placement,
    placement: Placement | None,
    stages: tuple[Stage, ...],
    *,
    time_limit: float | None,
    gap: float,
    clock: Clock | None,
) -> Exact:
    """The better of the model's answer and the heuristics', the latter with its cloud price made optimal too."""
    valid = placement is not None and not violations(instance, placement)
    if valid and placement is not None and better(instance, placement, warm) is placement:
        return Exact(placement=placement, stages=stages, source="model")
    dealt = Dealt(
        hosts=tuple(
            None
            if row is None
            else tuple(
                host if instance.is_edge[host] or application.components[i].pinned is not None else CLOUD
                for i, host in enumerate(row)
            )
            for application, row in zip(instance.applications, warm.hosts, strict=True)
        )
    )
    answer = _with_cloud(instance, dealt, time_limit=time_limit, gap=gap, clock=clock)
    if answer is None:
        return Exact(placement=warm, stages=stages, source="heuristic")
    rented, stage = answer
    best = better(instance, warm, Placement(hosts=rented.hosts, reasons=warm.reasons))
    edge_stages = stages[:4]
    return Exact(placement=best, stages=(*edge_stages, stage), source="heuristic")
