"""Pogonip's optimum: both placement problems solved exactly, in order of importance.

Applications placed, microservices kept on the edge, edge nodes in use, delay; then the price of the cloud for what
was forwarded. The paper adds the cost of edge nodes and the number of forwarded microservices into one sum, in which
renting the cloud can be as good as opening a node, says nothing about delay, and has no answer at all when one queue
does not fit. Here forwarding always weighs more than any number of nodes, delay decides among what the paper calls
optimal, and what cannot be placed is rejected with a reason. Edge nodes count by their prices, P_n of equation (1), where
any carries one, and one each otherwise, as in the paper's experiments.

The heuristics run first. Their answer bounds every stage but the delay, is returned if nothing better is found in time,
and so the result is never worse than theirs. `stages` say for every objective what was reached, what was proven and the gap.

Exactness. The delay stage knows the cloud by the nearest host a component may use: exact when cloud hosts are equally
far from a queue, as in the paper; otherwise delay to the cloud may come out longer than the stage says, and the
price, not the delay, picks the host. With a time limit the answer depends on the machine's speed; without one it does
not.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ecotone.placement.exact.aggregated_model import CLOUD, AggregatedModel, Dealt
from ecotone.placement.exact.ball_model import BallModel, applies
from ecotone.placement.exact.classes import application_classes
from ecotone.placement.exact.cloud_model import Forwarded, rent
from ecotone.placement.exact.counting import minimise_by_counts
from ecotone.placement.exact.milp import Clock, Stage, lexicographic
from ecotone.placement.exact.neighbourhood import improve, vector
from ecotone.placement.heuristic.improved_greedy import improved_greedy, replant
from ecotone.placement.heuristic.pogonip import pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.reasons import explain
from ecotone.placement.problem.remaining import Remaining
from ecotone.placement.problem.solution import Placement, better, figures

LARGE = 20_000


@dataclass(frozen=True, slots=True)
class _Share:
    """A part of the time that is left or, without a clock to tell, of all of it."""

    left: float
    whole: float


EARLY = _Share(left=0.5, whole=0.4)
EARLY_ALONE = _Share(left=0.9, whole=0.9)
DELAY = _Share(left=0.8, whole=0.35)
IMPROVING = _Share(left=0.8, whole=0.15)
RENTING = _Share(left=1.0, whole=0.1)


@dataclass(frozen=True, slots=True)
class Exact:
    """The placement, how far each objective was proven, and whose answer it is."""

    placement: Placement
    stages: tuple[Stage, ...]
    source: Literal["model", "heuristic"]

    @property
    def proven(self) -> bool:
        return all(stage.status == "optimal" for stage in self.stages)


@dataclass(frozen=True)
class _Budget:
    """What is left of the time; each question is answered anew."""

    limit: float | None
    clock: Clock | None
    begin: float
    gap: float
    report: Callable[[Stage], None] | None = None

    def seconds(self, share: _Share) -> float | None:
        if self.limit is None:
            return None
        if self.clock is None:
            return self.limit * share.whole
        return max(self.limit - (self.clock() - self.begin), 0.05) * share.left


def pogonip_opt(
    instance: Instance,
    *,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
    clock: Clock | None = None,
    report: Callable[[Stage], None] | None = None,
) -> Exact:
    """`clock` (seconds, any origin) lets one time limit cover all stages; without it each gets a fixed share.

    `report` hears of every edge objective as soon as it is settled.
    """
    begin = clock() if clock is not None else 0.0
    budget = _Budget(limit=time_limit, clock=clock, begin=begin, gap=gap, report=report)
    warm = better(instance, improved_greedy(instance), pogonip(instance))
    stages: tuple[Stage, ...] = ()
    answer: Placement | None = None
    for pack_cloud in (False, True):
        stages, dealt = _edge(instance, warm, budget, pack_cloud=pack_cloud)
        if dealt is None:
            break
        rented = _with_cloud(instance, dealt, budget)
        if rented is not None:
            answer, price = rented
            stages = (*stages, price)
            break
    return _best_of(instance, warm, answer, stages, budget)


def _edge(
    instance: Instance, warm: Placement, budget: _Budget, *, pack_cloud: bool
) -> tuple[tuple[Stage, ...], Dealt | None]:
    """The edge problem on the model that suits it: classes counted, or all applications different."""
    model: AggregatedModel | BallModel = AggregatedModel(instance, pack_cloud=pack_cloud)
    distinct = 4 * len(application_classes(instance)) > 3 * len(instance.applications)
    by_ball = distinct and not pack_cloud and model.model.columns > LARGE and applies(instance)
    if by_ball:
        model = BallModel(instance)
    known = figures(instance, warm)
    outcome = lexicographic(
        model.model,
        [model.rejected(), model.forwarded(), model.nodes()],
        known=[known.apps_rejected, known.forwarded_to_cloud, known.edge_opening],
        time_limit=budget.seconds(EARLY_ALONE if by_ball else EARLY),
        clock=budget.clock,
        gap=budget.gap,
        report=budget.report,
        polish=(lambda x: _polished(instance, model.deal(x))) if by_ball else None,
    )
    dealt = None if outcome.x is None else model.deal(outcome.x)
    if by_ball:
        delay = Stage(name="delay", value=known.latency_total_ms, bound=0.0, status="time limit")
        return (*outcome.stages, delay), dealt
    delay, nearer = _nearest(instance, dealt or _without_cloud(instance, warm), budget, pack_cloud=pack_cloud)
    return (*outcome.stages, delay), nearer


def _nearest(instance: Instance, start: Dealt, budget: _Budget, *, pack_cloud: bool) -> tuple[Stage, Dealt]:
    """The shortest delay of all placements as good as the start in everything else, on the model made for it."""
    model = AggregatedModel(instance, pack_cloud=pack_cloud, list_homes=True)
    x = vector(model, start)
    for objective in (model.rejected(), model.forwarded(), model.nodes()):
        model.model.limit(objective, objective.of(x))
    delay = model.latency()
    if delay.of(x) <= delay.lower:
        settled = Stage(name=delay.name, value=delay.of(x), bound=delay.of(x), status="optimal")
        if budget.report is not None:
            budget.report(settled)
        return settled, model.deal(x)
    # The delay at hand is compared with, not made a row: that slowed the search.
    found, stage = minimise_by_counts(
        model.model, delay, model.sizes(), time_limit=budget.seconds(DELAY), gap=budget.gap, clock=budget.clock
    )
    if found is not None and delay.of(found) < delay.of(x):
        x = np.rint(found)
    if stage.status == "infeasible":  # the start contradicts it, so it proves nothing
        stage = replace(stage, bound=delay.lower)
    stage = _against(stage, delay.of(x))
    if (stage.gap or 0.0) > budget.gap and not pack_cloud:
        x = improve(model, delay, x, time_limit=budget.seconds(IMPROVING), clock=budget.clock)
        stage = _against(stage, delay.of(x))
    if budget.report is not None:
        budget.report(stage)
    return stage, model.deal(x)


def _polished(instance: Instance, dealt: Dealt) -> list[float] | None:
    """What becomes of the model's queues when their microservices are placed by our greedy."""
    anew = replant(instance, [None if row is None else row[0] for row in dealt.hosts])
    if anew is None:
        return None
    result = figures(instance, anew)
    return [result.apps_rejected, result.forwarded_to_cloud, result.edge_opening]


def _with_cloud(instance: Instance, dealt: Dealt, budget: _Budget) -> tuple[Placement, Stage] | None:
    """Gives every forwarded microservice a cloud host; None when they do not pack."""
    items = [
        Forwarded(application=a, position=i, queue=hosts[0])
        for a, hosts in enumerate(dealt.hosts)
        if hosts is not None
        for i, host in enumerate(hosts)
        if host == CLOUD
    ]
    rented = rent(instance, items, time_limit=budget.seconds(RENTING), gap=budget.gap, clock=budget.clock)
    if rented.hosts is None:
        return None
    found = rented.hosts
    hosts = tuple(
        None if row is None else tuple(found.get((a, i), host) for i, host in enumerate(row))
        for a, row in enumerate(dealt.hosts)
    )
    return Placement(hosts=hosts, reasons=_reasons(instance, hosts)), rented.stage


def _best_of(
    instance: Instance, warm: Placement, answer: Placement | None, stages: tuple[Stage, ...], budget: _Budget
) -> Exact:
    """The best of the model's answer, the same queues with their microservices placed anew, and the heuristics'."""
    best, source = warm, "heuristic"
    price: Stage | None = stages[4] if len(stages) > 4 else None
    candidates = [] if answer is None else [answer]
    if answer is not None and any(stage.status != "optimal" for stage in stages):
        anew = replant(instance, [None if row is None else row[0] for row in answer.hosts])
        candidates += [] if anew is None else [anew]
    for each in candidates:
        if not violations(instance, each) and better(instance, each, best) is each:
            best, source = each, "model"
    if best is not answer:
        rented = _with_cloud(instance, _without_cloud(instance, best), budget)
        if rented is not None:
            price = rented[1]
            best = better(instance, best, replace(rented[0], reasons=best.reasons))
    return Exact(
        placement=best,
        stages=_restated(instance, best, stages[:4], price),
        source="model" if source == "model" else "heuristic",
    )


def _restated(
    instance: Instance, placement: Placement, stages: tuple[Stage, ...], price: Stage | None
) -> tuple[Stage, ...]:
    """The stages with the values of the placement that is handed out, against the bounds that were proven."""
    result = figures(instance, placement)
    values = [result.apps_rejected, result.forwarded_to_cloud, result.edge_opening, result.latency_total_ms]
    told = [_against(stage, float(value)) for stage, value in zip(stages, values, strict=False)]
    return tuple(told) if price is None else (*told, _against(price, result.cloud_cost_per_hour))


def _against(stage: Stage, value: float) -> Stage:
    proven = value <= stage.bound + 1e-6 * max(1.0, abs(stage.bound))
    return replace(stage, value=value, bound=min(stage.bound, value), status="optimal" if proven else "time limit")


def _without_cloud(instance: Instance, placement: Placement) -> Dealt:
    """The placement with every cloud host left open again, except where something already runs."""
    rows: list[tuple[int, ...] | None] = []
    for application, row in zip(instance.applications, placement.hosts, strict=True):
        if row is None:
            rows.append(None)
            continue
        pinned = [component.pinned is not None for component in application.components]
        rows.append(tuple(h if instance.is_edge[h] or pinned[i] else CLOUD for i, h in enumerate(row)))
    return Dealt(hosts=tuple(rows))


def _reasons(instance: Instance, hosts: tuple[tuple[int, ...] | None, ...]) -> dict[str, str]:
    if all(row is not None for row in hosts):
        return {}
    remaining = Remaining(instance)
    for application, row in zip(instance.applications, hosts, strict=True):
        if row is not None:
            for component, host in zip(application.components, row, strict=True):
                if component.pinned is None:
                    remaining.take(component, host)
    return {
        application.name: explain(instance, application, remaining)
        for application, row in zip(instance.applications, hosts, strict=True)
        if row is None
    }
