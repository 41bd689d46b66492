"""The rule of descheduling for QoS targets, in front of whatever rule a policy moves by otherwise.

Where workloads carry targets, the counts model is asked for the placement with the least loss; each move has to be worth
its cost in milliseconds over target (the hysteresis), and a plan that gains less than half a millisecond is none. The plan is
carried out step by step (`descheduling.steps`), and nothing new is planned before it has ended. Pods of such workloads also
get deletion costs, so that a scale-down takes those first that help least. All other workloads are left to the rule named by
`then`, which sees the pods of workloads with targets as pods that stay.

A stage of a plan has at most as many moves as a run may make. The next one, and the next plan, begins when its replacements are
ready. No stage breaks a promise that holds, and no plan gives one up for others.

`moveCostMs` is what a move has to be worth, `brokenMs` what every promise that is not kept counts on top; a plan that has not
ended after `planSeconds` is given up; `deletionCosts: false` leaves the costs alone. One move begins every `moveSeconds`, and
up to `moveBurst` at once after a pause (`moveSeconds: 0`: no such limit); no plan is made that has more moves than are allowed
by then, so that none stops halfway. All other arguments are those of `then`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ecotone.descheduling.eligibility import why_not
from ecotone.descheduling.pace import MEMORY as PACE
from ecotone.descheduling.pace import pace_now
from ecotone.descheduling.steps import MEMORY, Step, StepPlan, plan_in, under_way
from ecotone.model.arrays import Ints, Mask
from ecotone.model.decisions import Decision, Decisions, DeletionCost
from ecotone.model.objects import Pod, Workload, WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState
from ecotone.placement.kubedsm.carry_out import begin, eviction, move_of, starting
from ecotone.placement.kubedsm.cluster import Cluster, Move
from ecotone.placement.kubedsm.configuration import Configuration
from ecotone.placement.kubedsm.from_snapshot import Reading, read
from ecotone.placement.problem.population import Population
from ecotone.placement.qos.from_snapshot import BROKEN_MS, Targets, problem_of, targets
from ecotone.placement.qos.moves import moves_between, ordered
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.promises import keeps, kept
from ecotone.placement.qos.solve import solve
from ecotone.placement.qos.spread import Spread, spread_of, stays_spread
from ecotone.scheduling.decide import framework_of
from ecotone.scheduling.profiles import registry
from ecotone.scheduling.profiles.descheduler import DeschedulerSettings
from ecotone.scheduling.profiles.profile import Profile

LEAST_GAIN_MS = 0.5


def by_targets(
    snapshot: Snapshot,
    profile: Profile,
    settings: DeschedulerSettings,
    *,
    then: str = "plans",
    moveCostMs: float = 5.0,
    brokenMs: float = BROKEN_MS,
    planSeconds: float = 120.0,
    deletionCosts: bool = True,
    moveSeconds: float = 15.0,
    moveBurst: int = 12,
    **others: Any,
) -> Decisions:
    promised = {
        each.key
        for each in _asked(snapshot, settings)
        if each.edge_share is not None or each.target_latency_ms is not None
    }
    rest = replace(settings, rule=then, args=others)
    if not promised:
        return registry.find_rule(then)(snapshot, profile, rest, **others)
    _tell(settings, promised, "its QoS target decides where it is")
    state = ClusterState.of(snapshot)

    def stays(pod: Pod) -> bool:
        return not pod.ready or why_not(state, pod, settings) is not None

    reading = read(snapshot, (), Configuration(), stays=stays)
    wanted = targets(state, reading.population)
    redundant = framework_of(profile).keeps_redundancy
    people = reading.population
    spreads = spread_of(state, people.kinds, people.placed, people.allowed) if redundant else None
    costs: tuple[Decision, ...] = tuple(_deletion_costs(reading, wanted)) if deletionCosts else ()
    pace = pace_now(snapshot, seconds=moveSeconds, burst=moveBurst) if moveSeconds > 0.0 else None
    limited = settings if pace is None else replace(settings, max_moves=_least(settings.max_moves, pace.allowed))
    plan = _still(plan_in(snapshot.memory), reading, snapshot, planSeconds)
    if not plan.steps and not _unsettled(snapshot, promised) and not starting(plan, snapshot, settings):
        plan = _planned(
            reading, wanted, snapshot, limited, move_cost=moveCostMs, broken_ms=brokenMs, spreads=spreads
        )  # fmt: skip
    spread, exempt = _agreed(plan, reading, None if spreads is None else spreads[1])
    begun = begin(plan, reading, snapshot, settings, keeps=partial(_may, wanted, spread, exempt))
    if not begun and not under_way(snapshot, promised):
        plan = StepPlan()
    begun = begun if pace is None else begun[: pace.allowed]
    remaining = plan.after([step for step, _, _ in begun])
    moves = tuple(eviction(pod, step, plan, unit="ms", surge=surge) for step, pod, surge in begun)
    memory = {**snapshot.memory, MEMORY: remaining.as_memory()}
    if pace is not None:
        memory[PACE] = pace.after(len(begun))
    if moves or remaining.steps or under_way(snapshot, promised):
        _tell(settings, snapshot.workloads.keys() - promised, "workloads with QoS targets move first")
        return Decisions((*moves, *costs), memory)
    answer = registry.find_rule(then)(
        snapshot, profile, replace(rest, stays=_keeps(reading, wanted, settings.stays)), **others
    )
    return Decisions((*answer.decisions, *costs), {**memory, **answer.memory})


def _agreed(plan: StepPlan, reading: Reading, spread: Spread | None) -> tuple[Spread | None, frozenset[int]]:
    """What the plan's workloads had to keep when it was made: on the way they may stand farther apart for a while."""
    names = [each.name for each in reading.cluster.services]
    exempt = frozenset(number for number, name in enumerate(names) if name in plan.gives_up)
    if spread is None:
        return None, exempt
    agreed = [
        plan.least.get(name, (int(nodes), int(zones)))
        for name, nodes, zones in zip(names, spread.nodes, spread.zones, strict=True)
    ]
    nodes, zones = (np.array([each[part] for each in agreed], np.int64) for part in (0, 1))
    return replace(spread, nodes=nodes, zones=zones), exempt


def _least(limit: int | None, allowed: int) -> int:
    return allowed if limit is None else min(limit, allowed)


def _tell(settings: DeschedulerSettings, workloads: Iterable[WorkloadKey], why: str) -> None:
    if settings.told is not None:
        for each in workloads:
            settings.told(each, why)


def _asked(snapshot: Snapshot, settings: DeschedulerSettings) -> Iterable[Workload]:
    if settings.only is None:
        return snapshot.workloads.values()
    return [snapshot.workloads[key] for key in settings.only if key in snapshot.workloads]


def _unsettled(snapshot: Snapshot, own: Collection[WorkloadKey]) -> bool:
    """True while pods of these workloads wait for a node or places are kept for some: what comes next would be planned on sand.

    Pods that are starting are no reason to wait: they stay where they are, and the others can move meanwhile.
    """
    kept = (held.workload for held in snapshot.reservations if held.expires > snapshot.now and not held.taken_by)
    waiting = (pod.kind.workload for pod in snapshot.pending.values())
    return not set(own).isdisjoint({*kept, *waiting})


def _keeps(reading: Reading, wanted: Targets, given: Callable[[Pod], str | None] | None) -> Callable[[Pod], str | None]:
    """Pods with targets are not the other rule's to move, nor are those that have another reason to stay."""
    kinds = {kind for kind, has in zip(reading.population.kinds, wanted.has.tolist(), strict=True) if has}

    def why(pod: Pod) -> str | None:
        if pod.kind in kinds:
            return "its QoS target decides where it is"
        return None if given is None else given(pod)

    return why


def _planned(
    reading: Reading,
    wanted: Targets,
    snapshot: Snapshot,
    settings: DeschedulerSettings,
    *,
    move_cost: float,
    broken_ms: float,
    spreads: tuple[Spread, Spread] | None,
) -> StepPlan:
    found, cluster = reading.population, reading.cluster
    if not wanted.has.any():
        return StepPlan()
    if settings.single_replicas == "never":
        alone = found.ready.sum(axis=1) <= 1
        found = replace(found, fixed=np.where(alone[:, None], found.placed, found.fixed))
    ask = partial(problem_of, budget=settings.max_moves, move_cost=move_cost, broken_ms=broken_ms)
    answer, exempt = _answer(found, wanted, ask, spreads)
    spread = None if spreads is None else spreads[1]
    problem = ask(found, wanted)
    if answer is None:
        return StepPlan()
    moves = ordered(cluster, moves_between(found.placed, answer), partial(_may, wanted, spread, exempt))
    gain = problem.loss(found.placed) - problem.loss(cluster.after(moves).placed)
    if gain < LEAST_GAIN_MS:  # not all of them can be made
        return StepPlan()
    steps = tuple(
        Step(cluster.services[each.service].name, cluster.nodes[each.origin].name, cluster.nodes[each.target].name)
        for each in moves
    )
    least = {} if spread is None else _least_of(cluster, spread, {each.service for each in moves})
    gives_up = tuple(sorted(cluster.services[service].name for service in exempt))
    return StepPlan(steps, snapshot.now, gain, len(steps), least=least, gives_up=gives_up)


def _least_of(cluster: Cluster, spread: Spread, services: Iterable[int]) -> dict[str, tuple[int, int]]:
    return {
        cluster.services[each].name: (int(spread.nodes[each]), int(spread.zones[each])) for each in sorted(services)
    }


def _answer(
    found: Population, wanted: Targets, ask: Callable[..., Problem], spreads: tuple[Spread, Spread] | None
) -> tuple[Ints | None, frozenset[int]]:
    """Where the pods should go, if that gains anything, and the services that give redundancy up so that promises are kept.

    First what owners want is asked of everybody, then what there is. Those whose own promise is missed otherwise give it up
    first, all others only if that keeps more promises still.
    """
    if spreads is None:
        return _solved(found, wanted, ask, None), frozenset()
    want, now = spreads

    def missed(x: Ints | None) -> Mask:
        return wanted.has & ~kept(wanted, found.placed if x is None else x)

    def asked() -> Iterator[Spread | None]:
        yield from (want, now)
        yield now.without(missed(best))
        yield None

    best: Ints | None = None
    for spread in asked():
        answer = _solved(found, wanted, ask, spread)
        if answer is not None and (best is None or missed(answer).sum() < missed(best).sum()):
            best = answer
        if not missed(best).any():
            break
    if best is None:
        return None, frozenset()
    moved = (best != found.placed).any(axis=1)
    return best, frozenset(np.flatnonzero(want.lacks(best) & moved).tolist())


def _solved(found: Population, wanted: Targets, ask: Callable[..., Problem], spread: Spread | None) -> Ints | None:
    held, given_up = kept(wanted, found.placed), np.ones(len(found.kinds), np.bool_)
    while given_up.any():
        problem = ask(found, wanted, spread=spread)
        answer = solve(problem)
        if problem.loss(found.placed) - answer.loss < LEAST_GAIN_MS:
            return None
        if problem.violations(answer.x):
            return None
        # Where a promise that holds would be given up for others, its pods stay, and the question is asked again.
        given_up = held & ~kept(wanted, answer.x)
        found = replace(found, fixed=np.where(given_up[:, None], found.placed, found.fixed))
    return answer.x


def _may(wanted: Targets, spread: Spread | None, exempt: Collection[int], cluster: Cluster, move: Move) -> bool:
    """Whether a move keeps promises that hold, and redundancy."""
    return keeps(wanted, cluster, move) and stays_spread(spread, exempt, cluster, move)


def _still(plan: StepPlan, reading: Reading, snapshot: Snapshot, seconds: float) -> StepPlan:
    """The plan as it is now: nothing once its time is over, and without steps if they have become impossible."""
    if snapshot.now - plan.since > seconds:
        return StepPlan()
    now = reading.cluster
    for step in plan.steps:
        move = move_of(step, now)
        if move is None or not now.allowed[move.service, move.target]:
            return replace(plan, steps=())
        now = now.after([move])
    return replace(plan, steps=()) if now.overcommitted() else plan


def _deletion_costs(reading: Reading, wanted: Targets) -> list[DeletionCost]:
    """Coarse classes, written only where they change: 0 on the worst nodes for the workload, 100 on the best."""
    found = reading.population
    costs = []
    for (kind, node), pods in sorted(found.pods.items()):
        latency = wanted.latency[kind]
        spread = float(latency.max() - latency.min())
        if not wanted.has[kind] or spread <= 0.0:
            continue
        cost = int(100 * round((float(latency.max()) - float(latency[node])) / spread, 1))
        why = (
            f"{latency[node]:.4g} ms on {reading.cluster.nodes[node].name}: the far ones go first when there are fewer"
        )
        costs += [DeletionCost(pod.key, cost, why, uid=pod.uid) for pod in pods if pod.deletion_cost != cost]
    return costs
