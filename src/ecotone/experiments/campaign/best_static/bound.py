"""How good any placement could have been: the best static placement of each phase, found with full knowledge.

For each phase (`phases`) placements are searched on counts of replicas, by the means of the policy's own planner but with
the scenario's true demands, calls and users, no price on moves and none on risk: from every node alone, from the users'
sites, and from random starts. The best of them meet the very same users in the simulator, in rounds: many for a short
while, those with the least mean response time for longer, the last ones for the whole phase, and the least mean wins. It
knows what no policy sees, moves between phases at no cost, and is therefore a yardstick, not a competitor. Where it is
found by search it is no proof: a policy may come out below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from ecotone.experiments.campaign.best_static.candidates import candidates, scaled
from ecotone.model import Bind, ClusterState, Decisions, Pod, Snapshot
from ecotone.scheduling import resolve
from ecotone.scheduling.evaluation import Evaluation
from ecotone.scheduling.framework import Framework
from ecotone.scheduling.plugin import Cycle
from ecotone.sim.recorder import FAILURE_SECONDS, SERIES_SECONDS, Recorder
from ecotone.sim.scenario import Scenario
from ecotone.sim.scenario.phases import Phase, phases, scenario_of
from ecotone.sim.simulation import Outcome, Simulation

NAME = "best-static"
ROUNDS = ((24, 0.1), (6, 1 / 3), (2, 1.0))  # placements simulated, and for which part of the phase
EFFORT = sum(number * share for number, share in ROUNDS)  # runs' worth of simulation in one bound

# Service -> node -> pods; the nodes are in the order in which more pods would take them.
Placed = Mapping[str, Mapping[str, int]]


class Fixed:
    """Puts every pod where it was told to, and leaves it there.

    Pods beyond what it was told (an autoscaler's) go to the first node of the placement that the filters of every scheduler
    still let them onto; where there is none they wait, as they would under any policy.
    """

    name = NAME
    reserves_for = 0.0

    def __init__(self, placement: Placed) -> None:
        self._placement = placement
        self._framework = Framework(resolve("kube-default"))

    def schedule(self, snapshot: Snapshot) -> Decisions:
        state = ClusterState.of(snapshot)
        found = []
        for pod in snapshot.pending.values():
            node = self._told(state, pod) or self._fitting(state, pod)
            if node is not None:
                state.assume(pod, node)
                found.append(Bind(pod.key, node, "fixed"))
        return Decisions(tuple(found))

    def _told(self, state: ClusterState, pod: Pod) -> str | None:
        rows, counts = state.usage.where(pod.kind)
        there = dict(zip(rows.tolist(), counts.tolist(), strict=True))
        told = self._placement[pod.kind.workload.name].items()
        return next((name for name, count in told if there.get(state.nodes.index[name], 0) < count), None)

    def _fitting(self, state: ClusterState, pod: Pod) -> str | None:
        ok = Evaluation(self._framework, Cycle(state, pod)).ok
        return next((name for name in self._placement[pod.kind.workload.name] if ok[state.nodes.index[name]]), None)

    def deschedule(self, snapshot: Snapshot) -> Decisions:
        del snapshot
        return Decisions(())


def best_static(scenario: Scenario, *, seed: int) -> Outcome:
    """As a run: every phase with its own best placement."""
    joined = Recorder(warmup=scenario.warmup, intervals=max(1, len(scenario.load)))
    outcome = Outcome(joined)
    startup = 1.0 + max(service.startup for service in scenario.application.services)
    lead = SERIES_SECONDS * ceil(startup / SERIES_SECONDS)  # so that windows begin and end where a run's do
    found = phases(scenario)
    for phase in found:
        best = _best_of(scenario, phase, seed, lead)
        recorder = best.recorder
        for own, other in zip(joined.intervals, recorder.intervals, strict=True):
            own.samples.take_over(other.samples)
            own.spectrum.take_over(other.spectrum)
            own.sent += other.sent
            own.failed += other.failed
        joined.sent += recorder.sent
        joined.failed += recorder.failed
        for cause, number in recorder.causes.items():
            joined.causes[cause] += number
        joined.series += [(at - lead + phase.start, p95) for at, p95 in recorder.series]
        joined.totals += [(at - lead + phase.start, count, total) for at, count, total in recorder.totals]
        outcome.placement.append((phase.start, best.placement[-1][1]))
        for node, share in best.utilisation.items():
            outcome.utilisation[node] = outcome.utilisation.get(node, 0.0) + share / len(found)
    return outcome


def _best_of(scenario: Scenario, phase: Phase, seed: int, lead: float) -> Outcome:
    known = scaled(scenario, phase.loads)
    left = candidates(scenario_of(known, phase, lead=lead), phase.loads)[: ROUNDS[0][0]]
    ranked: list[tuple[float, int, Outcome]] = []
    for (_, share), (keep, _) in zip(ROUNDS, (*ROUNDS[1:], (1, 0.0)), strict=True):
        alone = scenario_of(known, phase, lead=lead, share=share)
        ranked = []
        for number, placement in enumerate(left):
            outcome = Simulation(alone, Fixed(placement), seed=seed, monitoring=False).run()
            ranked.append((_mean(outcome.recorder), number, outcome))
        ranked.sort(key=lambda each: each[:2])  # ties go to the better prediction
        left = [left[number] for _, number, _ in ranked[:keep]]
        if len(left) == 1 and share == 1.0:
            break
    return ranked[0][2]


def _mean(recorder: Recorder) -> float:
    """Seconds, a failure counting as a minute."""
    samples = recorder.samples
    return (samples.total + FAILURE_SECONDS * recorder.failed) / max(1, recorder.sent)
