"""One simulated run as a value that can be sent anywhere, and its figures as plain data.

`execute` depends on its job alone, so a run gives the same bytes in this process, in another, or on another machine with
the same lock file.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import ecotone
from ecotone.experiments import bound
from ecotone.experiments.figures import milliseconds, significant
from ecotone.sim.engine import Engine
from ecotone.sim.orchestration import Orchestrator
from ecotone.sim.randomness import derive
from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.simulation import Outcome, Simulation

Run = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do. `variant` names how the policy is taken apart, see `ecotone.experiments.variants`."""

    scenario: str  # the text of the scenario file
    file: str
    policy: str
    trial: int
    seed: int
    variant: str = ""

    @property
    def key(self) -> str:
        """What this run's results are kept under."""
        parts = (ecotone.__version__, self.scenario, self.policy, self.variant, str(self.trial), str(self.seed))
        return blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


def execute(job: Job) -> Run:
    scenario = read_scenario(job.scenario, file=job.file)
    if job.variant == bound.NAME:
        found = bound.best_static(scenario, seed=derive(job.seed, "trial", job.trial))
        return figures(scenario, found, policy=bound.NAME, trial=job.trial)
    outcome = Simulation(scenario, orchestrator(job), seed=derive(job.seed, "trial", job.trial)).run()
    return figures(scenario, outcome, policy=job.variant or job.policy, trial=job.trial)


def orchestrator(job: Job) -> Orchestrator:
    if job.variant:
        from ecotone.experiments.variants import make

        return make(job.variant)
    return Engine(job.policy)


def figures(scenario: Scenario, outcome: Outcome, *, policy: str, trial: int) -> Run:
    recorder = outcome.recorder
    samples = recorder.samples
    answered = samples.count
    network = sum(interval.network for interval in recorder.intervals)
    work = sum(interval.work for interval in recorder.intervals)
    run: Run = {
        "policy": policy,
        "trial": trial,
        "requests": recorder.sent,
        "failed": recorder.failed,
        "response_ms": {
            "mean": milliseconds(samples.mean),
            "p50": milliseconds(samples.quantile(0.50)),
            "p95": milliseconds(samples.quantile(0.95)),
            "p99": milliseconds(samples.quantile(0.99)),
        },
        "p95_with_failures_ms": milliseconds(samples.quantile(0.95, failures=recorder.failed)),
        "breakdown_ms": {
            "network": milliseconds(network / answered) if answered else None,
            "work": milliseconds(work / answered) if answered else None,
            "waiting": milliseconds(max(0.0, samples.total - network - work) / answered) if answered else None,
        },
        "series": [[significant(at), milliseconds(p95)] for at, p95 in recorder.series],
        "intervals": [
            {
                "at": significant(load.at),
                "entry": f"{load.service}.{load.endpoint}",
                "from": list(load.sources),
                "requests": interval.sent,
                "failed": interval.failed,
                "mean_ms": milliseconds(interval.samples.mean),
                "p95_ms": milliseconds(interval.samples.quantile(0.95)),
            }
            for load, interval in zip(scenario.load, recorder.intervals, strict=False)
        ],
        "evictions": outcome.evictions,
        "preemptions": outcome.preemptions,
        "lost_to_evictions": outcome.lost_to_evictions,
        "moves": [
            {"at": significant(move.at), "pod": move.pod, "service": move.service, "from": move.origin, "to": move.target,
             "why": move.why}
            for move in outcome.moves
        ],
        "unplaced": outcome.unplaced,
        "placement": [[significant(at), placement] for at, placement in outcome.placement],
        "utilisation": {name: significant(share) for name, share in outcome.utilisation.items()},
    }  # fmt: skip
    if scenario.qos is not None:
        run["edge_latency_ms"] = significant(outcome.edge_latency_ms)
    return run
