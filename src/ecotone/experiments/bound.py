"""How good any placement could have been: the best static placement of each stretch of load, found with full knowledge.

For one stretch only the services below its entry point matter. All placements of those are ranked by a prediction (network
time on the critical path, CPU demand stretched by the load of the node), exhaustively while that is possible and by local
search with restarts beyond. The best of them meet the very same users in the simulator, in rounds: many for a short while,
those with the lowest p95 for longer, the last ones for the whole stretch, and the lowest p95 wins. It knows demands and
users that no policy sees, moves between stretches at no cost, and is therefore a bound, not a competitor.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from random import Random

from ecotone.model import Bind, Decisions, Snapshot
from ecotone.sim.plan import Plan, Planner, Step
from ecotone.sim.recorder import Recorder
from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.schema import Load
from ecotone.sim.simulation import Outcome, Simulation

NAME = "best-static"
_EXHAUSTIVE = 10_000
ROUNDS = ((24, 0.1), (6, 1 / 3), (2, 1.0))  # placements simulated, and for which part of the stretch
EFFORT = sum(number * share for number, share in ROUNDS)  # runs' worth of simulation in one bound
_RESTARTS = 60

Placed = Mapping[str, str]


class Fixed:
    """Puts every pod where it was told to, and leaves it there."""

    name = NAME
    reserves_for = 0.0

    def __init__(self, placement: Placed, fallback: str) -> None:
        self._placement = placement
        self._fallback = fallback

    def schedule(self, snapshot: Snapshot) -> Decisions:
        binds = [
            Bind(pod.key, self._placement.get(pod.kind.workload.name, self._fallback), "fixed")
            for pod in snapshot.pending.values()
        ]
        return Decisions(tuple(binds))

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        del snapshot
        return Decisions(())


def best_static(scenario: Scenario, *, seed: int) -> Outcome:
    """As a run: every stretch with its own best placement."""
    joined = Recorder(warmup=scenario.warmup, intervals=max(1, len(scenario.load)))
    outcome = Outcome(joined)
    for number, load in enumerate(scenario.load):
        found = _best_of_stretch(scenario, number, load, seed)
        recorder = found.recorder
        joined.intervals[number] = recorder.intervals[number]
        joined.sent += recorder.sent
        joined.failed += recorder.failed
        for cause, number_failed in recorder.causes.items():
            joined.causes[cause] += number_failed
        joined.series += recorder.series
        outcome.placement.append((load.at, found.placement[-1][1]))
        for node, share in found.utilisation.items():
            outcome.utilisation[node] = outcome.utilisation.get(node, 0.0) + share / len(scenario.load)
    return outcome


def _best_of_stretch(scenario: Scenario, number: int, load: Load, seed: int) -> Outcome:
    left = _candidates(scenario, load)[: ROUNDS[0][0]]
    ranked: list[tuple[float, int, Outcome]] = []
    for (_, share), (keep, _) in zip(ROUNDS, (*ROUNDS[1:], (1, 0.0)), strict=True):
        alone = _alone(scenario, number, share)
        ranked = []
        for place, placement in enumerate(left):
            fixed = Fixed(placement, scenario.nodes[0].name)
            outcome = Simulation(alone, fixed, seed=seed, monitoring=False).run()
            ranked.append(
                (outcome.recorder.samples.quantile(0.95, failures=outcome.recorder.failed) or 0.0, place, outcome)
            )
        ranked.sort(key=lambda each: each[:2])  # ties go to the better prediction
        left = [left[place] for _, place, _ in ranked[:keep]]
    return ranked[0][2]


def _alone(scenario: Scenario, number: int, share: float) -> Scenario:
    """Only the first part of this stretch, soon after the start; its place in the list, and so its draws, stay the same."""
    load = scenario.load[number]
    shift = load.at - scenario.load[0].at
    others = [
        replace(each, at=each.at - shift, length=share * load.length)
        if place == number
        else replace(each, users=0, poisson=0.0)
        for place, each in enumerate(scenario.load)
    ]
    end = load.at - shift + share * load.length
    return replace(scenario, load=tuple(others), duration=end, link_changes=(), node_changes=())


def _candidates(scenario: Scenario, load: Load) -> list[Placed]:
    plan = Planner(scenario.application).plan(load.service, load.endpoint)
    services = scenario.application.services
    pinned = {each.name: each.pinned for each in services if each.pinned is not None}
    free = sorted({services[step.service].name for step in plan.steps} - set(pinned))
    nodes = [node.name for node in scenario.nodes]
    predict = _Prediction(scenario, plan, load, pinned)
    if len(nodes) ** len(free) <= _EXHAUSTIVE:
        every = [dict(zip(free, chosen, strict=True)) for chosen in product(nodes, repeat=len(free))]
    else:
        every = _local_search(predict, free, nodes)
    ranked = sorted(every, key=lambda each: (predict(each), sorted(each.items())))
    return [{**pinned, **each} for each in ranked]


def _local_search(predict: _Prediction, free: list[str], nodes: list[str]) -> list[dict[str, str]]:
    """From each node alone and from random starts: move one service or a pair while that helps."""
    draws = Random(1)
    starts = [dict.fromkeys(free, node) for node in nodes]
    starts += [{name: draws.choice(nodes) for name in free} for _ in range(_RESTARTS)]
    found: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
    for start in starts:
        here, cost = start, predict(start)
        while True:
            steps = [{**here, name: node} for name in free for node in nodes]
            steps += [{**here, a: node, b: node} for a in free for b in free if a < b for node in nodes]
            following = min(steps, key=predict)
            if predict(following) >= cost - 1e-12:
                break
            here, cost = following, predict(following)
        found[tuple(sorted(here.items()))] = here
    return list(found.values())


class _Prediction:
    """Seconds a request of one stretch takes under a placement."""

    def __init__(self, scenario: Scenario, plan: Plan, load: Load, pinned: Mapping[str, str | None]) -> None:
        self._scenario = scenario
        self._plan = plan
        self._load = load
        self._pinned = pinned
        self._names = [service.name for service in scenario.application.services]
        default = scenario.network.default.rtt
        links = dict(scenario.network.links)
        self._rtt = {
            (a.name, b.name): 0.0
            if a is b
            else (links.get((a.name, b.name)) or links.get((b.name, a.name)) or _Link(default)).rtt
            for a in scenario.nodes
            for b in scenario.nodes
        }
        self._cores = {node.name: node.cpu / 1000 for node in scenario.nodes}
        period = load.every or load.think or 1.0
        self._rate = load.poisson or load.users / period
        self._kept: dict[tuple[tuple[str, str], ...], float] = {}

    def __call__(self, placement: Mapping[str, str]) -> float:
        key = tuple(sorted(placement.items()))
        if key not in self._kept:
            self._kept[key] = self._predict({**self._pinned, **placement})  # type: ignore[dict-item]
        return self._kept[key]

    def _predict(self, where: Mapping[str, str]) -> float:
        busy = dict.fromkeys(self._cores, 0.0)
        services = self._scenario.application.services
        for step in self._plan.steps:
            if not services[step.service].external:
                busy[where[self._names[step.service]]] += self._rate * step.mean * step.probability
        stretch = {node: 1.0 / max(0.02, 1.0 - busy[node] / cores) for node, cores in self._cores.items()}
        sources = self._load.sources
        root = where[self._names[self._plan.root.service]]
        own = self._time(self._plan.root, where, stretch)
        return own + sum(self._rtt[source, root] for source in sources) / len(sources)

    def _time(self, step: Step, where: Mapping[str, str], stretch: Mapping[str, float]) -> float:
        name = self._names[step.service]
        service = self._scenario.application.services[step.service]
        here = where[name]
        total = step.mean + service.proxy_rtt if service.external else step.mean * stretch[here]
        for stage in step.stages:
            longest = 0.0
            for branch in stage:
                if branch[0].detached:
                    continue
                took = sum(
                    call.probability
                    * (self._rtt[here, where[self._names[call.service]]] + self._time(call, where, stretch))
                    for call in branch
                )
                longest = max(longest, took)
            total += longest
        return total


class _Link:
    __slots__ = ("rtt",)

    def __init__(self, rtt: float) -> None:
        self.rtt = rtt
