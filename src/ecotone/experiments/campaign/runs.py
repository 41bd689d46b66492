"""One simulated run as a value that can be sent anywhere, and its figures as a record.

`execute` depends on its job alone, so a run gives the same bytes in this process, in another, or on another machine with
the same lock file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from msgspec import UNSET

from ecotone.experiments.campaign.best_static import bound
from ecotone.experiments.campaign.code import code_digest
from ecotone.experiments.campaign.record import Breakdown, Move, Phase, Placed, ResponseTimes, Run, Talk
from ecotone.experiments.campaign.statistics import milliseconds, significant
from ecotone.manifests.configuration import configuration_document
from ecotone.scheduling import Policy, resolve
from ecotone.scheduling.profiles import plugin_files
from ecotone.sim.control.alike import Alike
from ecotone.sim.control.engine import Engine
from ecotone.sim.control.observation import NAMESPACE
from ecotone.sim.parts import DISRUPTIONS, NAMES, UNANSWERED, Parts
from ecotone.sim.randomness import derive
from ecotone.sim.recorder import FAILURE_SECONDS, SERIES_SECONDS, Interval, Recorder
from ecotone.sim.scenario import Scenario, read_scenario
from ecotone.sim.scenario.phases import SETTLED, phases
from ecotone.sim.scenario.schema import Load
from ecotone.sim.simulation import Outcome, Progress, Simulation

_SHARES = (*(step / 50 for step in range(50)), 0.99, 0.995, 0.999, 1.0)
_NOTHING = 1e-9  # seconds: what rounding leaves of a part that is not there


@dataclass(frozen=True, slots=True)
class Job:
    """One run to do. The policy travels as data, so that a worker needs nothing but what is installed.

    `bound`: instead of the policy, the best static placements there are.
    """

    scenario: str  # the text of the scenario file
    file: str
    policy: Policy
    trial: int
    seed: int
    bound: bool = False

    @property
    def world(self) -> tuple[str, int, int, bool]:
        """What jobs have in common that differ in nothing but their policies."""
        return self.scenario, self.trial, self.seed, self.bound

    @property
    def key(self) -> str:
        """What this run's results are kept under: all it depends on, the code included."""
        chosen = resolve(self.policy)
        profile = json.dumps(configuration_document([chosen]), sort_keys=True)
        own = "".join(plugin_files.digest(name) for name in chosen.named())
        parts = (code_digest(), own, self.scenario, profile, str(self.bound), str(self.trial), str(self.seed))
        return blake2b("\x1f".join(parts).encode(), digest_size=16).hexdigest()


def execute(job: Job, progress: Progress | None = None) -> Run:
    scenario = read_scenario(job.scenario, file=job.file)
    if job.bound:
        found = bound.best_static(scenario, seed=derive(job.seed, "trial", job.trial))
        return figures(scenario, found, policy=bound.NAME, trial=job.trial)
    profile = resolve(job.policy)
    outcome = Simulation(scenario, Engine(profile), seed=derive(job.seed, "trial", job.trial)).run(progress)
    return figures(scenario, outcome, policy=profile.name, trial=job.trial)


def execute_together(jobs: Sequence[Job], progress: Progress | None = None) -> list[Run]:
    """The runs of jobs that differ in nothing but their policies; those that decide alike are simulated once.

    `progress` is told how many of them are done, and parts of one.
    """
    if len(jobs) == 1:
        return [execute(jobs[0], progress)]
    first = jobs[0]
    scenario = read_scenario(first.scenario, file=first.file)
    profiles = [resolve(job.policy) for job in jobs]
    found: dict[int, Run] = {}

    def tell(share: float) -> None:
        if progress is not None:
            progress(len(found) + share)

    while len(found) < len(jobs):
        left = [number for number in range(len(jobs)) if number not in found]
        alike = Alike([Engine(profiles[number]) for number in left])
        outcome = Simulation(scenario, alike, seed=derive(first.seed, "trial", first.trial)).run(tell)
        for place in alike.agreed:
            own = outcome if place == 0 else _with_reasons(outcome, alike.reasons(place))
            found[left[place]] = figures(scenario, own, policy=profiles[left[place]].name, trial=first.trial)
    return [found[number] for number in range(len(jobs))]


def _with_reasons(outcome: Outcome, reasons: Mapping[tuple[float, str], str]) -> Outcome:
    """What happened, with another policy's reasons for it."""

    def own(at: float, pod: str) -> str:
        return reasons[at, f"{NAMESPACE}/{pod}"]

    return replace(
        outcome,
        binds=[replace(each, why=own(each.at, each.pod)) for each in outcome.binds],
        moves=[replace(each, why=own(each.at, each.pod)) for each in outcome.moves],
    )


def figures(scenario: Scenario, outcome: Outcome, *, policy: str, trial: int) -> Run:
    recorder = outcome.recorder
    samples = recorder.samples
    spectrum = recorder.spectrum
    return Run(
        policy=policy,
        trial=trial,
        requests=recorder.sent,
        failed=recorder.failed,
        response_ms=ResponseTimes(
            mean=milliseconds(samples.mean),
            p50=milliseconds(samples.quantile(0.50)),
            p95=milliseconds(samples.quantile(0.95)),
            p99=milliseconds(samples.quantile(0.99)),
        ),
        p95_with_failures_ms=milliseconds(samples.quantile(0.95, failures=recorder.failed)),
        breakdown_ms=_parts(spectrum.whole),
        p95_breakdown_ms=_parts(spectrum.around(0.95)),
        breakdown_with_failures_ms=_with_failures(recorder),
        failures={cause: count for cause, count in recorder.causes.items() if count},
        series=[(significant(at), milliseconds(p95)) for at, p95 in recorder.series],
        intervals=[_phase(*each) for each in zip(scenario.load, recorder.intervals, strict=False)],
        evictions=outcome.evictions,
        preemptions=outcome.preemptions,
        lost_to_evictions=outcome.lost_to_evictions,
        failures_series=[
            (significant(window * SERIES_SECONDS), causes) for window, causes in sorted(recorder.failures.items())
        ],
        quantiles_ms=[(share, milliseconds(samples.quantile(share))) for share in _SHARES],
        moves=[
            Move(significant(move.at), move.pod, move.service, move.origin, move.target, move.why)
            for move in outcome.moves
        ],
        binds=[Placed(significant(at.at), at.pod, at.service, at.node, at.why) for at in outcome.binds],
        talk=[
            Talk(origin, target, calls, significant(outcome.bytes[origin, target]))
            for (origin, target), calls in outcome.calls.items()
        ],
        cost_per_hour=significant(outcome.cost_per_hour),
        unplaced=outcome.unplaced,
        placement=[(significant(at), placement) for at, placement in outcome.placement],
        phases=[(significant(at), counts) for at, counts in outcome.phases],
        utilisation={name: significant(share) for name, share in outcome.utilisation.items()},
        settled_mean_ms=milliseconds(_settled(scenario, recorder)),
        edge_latency_ms=UNSET if scenario.qos is None else significant(outcome.edge_latency_ms),
    )


def _settled(scenario: Scenario, recorder: Recorder) -> float | None:
    """Seconds, over the windows that lie in the settled part of a phase."""
    spans = [(phase.start + SETTLED, phase.end) for phase in phases(scenario)]
    found = [
        (count, total)
        for at, count, total in recorder.totals
        if any(start <= at and at + SERIES_SECONDS <= end for start, end in spans)
    ]
    requests = sum(count for count, _ in found)
    return sum(total for _, total in found) / requests if requests else None


def _phase(load: Load, interval: Interval) -> Phase:
    return Phase(
        at=significant(load.at),
        entry=f"{load.service}.{load.endpoint}",
        sources=list(load.sources),
        requests=interval.sent,
        failed=interval.failed,
        mean_ms=milliseconds(interval.samples.mean),
        p95_ms=milliseconds(interval.samples.quantile(0.95)),
        breakdown_ms=_parts(interval.spectrum.whole),
    )


def _parts(parts: Parts | None) -> Breakdown:
    """Mean milliseconds of each part of a response time: together they are its mean."""
    means = None if parts is None else parts.means()
    return {name: None if means is None else _part(means[name]) for name in NAMES}


def _with_failures(recorder: Recorder) -> Breakdown:
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
