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
from ecotone.sim.parts import DISRUPTIONS, NAMES, UNANSWERED, Parts
from ecotone.sim.randomness import derive
from ecotone.sim.recorder import FAILURE_SECONDS, Recorder
from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.simulation import Outcome, Simulation

Run = dict[str, Any]

_NOTHING = 1e-9  # seconds: what rounding leaves of a part that is not there


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
    spectrum = recorder.spectrum
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
        "breakdown_ms": _parts(spectrum.whole),
        "p95_breakdown_ms": _parts(spectrum.around(0.95)),
        "breakdown_with_failures_ms": _with_failures(recorder),
        "failures": {cause: count for cause, count in recorder.causes.items() if count},
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
                "breakdown_ms": _parts(interval.spectrum.whole),
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


def _parts(parts: Parts | None) -> dict[str, float | None]:
    """Mean milliseconds of each part of a response time: together they are its mean."""
    means = None if parts is None else parts.means()
    return {name: None if means is None else _part(means[name]) for name in NAMES}


def _with_failures(recorder: Recorder) -> dict[str, float | None]:
    """The same over all requests, a failure counting as a minute of disruption, or of what was never answered."""
    parts, requests = recorder.spectrum.whole, recorder.sent
    if not requests:
        return dict.fromkeys((*NAMES, "unanswered"))
    sums: dict[str, float] = {name: getattr(parts, name) for name in NAMES}
    sums["disruption"] += FAILURE_SECONDS * sum(recorder.causes[cause] for cause in DISRUPTIONS)
    sums["unanswered"] = FAILURE_SECONDS * recorder.causes[UNANSWERED]
    return {name: _part(total / requests) for name, total in sums.items()}


def _part(seconds: float) -> float | None:
    return 0.0 if abs(seconds) < _NOTHING else milliseconds(seconds)
