"""A grid of scenarios under several policies, and the gains over the default scheduler.

A cell of the grid is one latency and one number of users. gain(cell) = 1 - p95(policy) / p95(kube-default), p95 being the
mean over trials; a latency's gain is the unweighted mean over its numbers of users, as published evaluations take it.
Intervals are over trials, each of which meets the same users under every policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ecotone.experiments.bound import NAME as BOUND
from ecotone.experiments.figures import interval95, mean
from ecotone.experiments.runs import Job, Run
from ecotone.experiments.sweep import Progress, sweep

BASELINE = "kube-default"
FEWEST = 3  # trials for an interval


@dataclass(frozen=True, slots=True)
class Contender:
    """A policy, or a variant of one."""

    policy: str
    variant: str = ""

    @property
    def name(self) -> str:
        return self.variant or self.policy


@dataclass(frozen=True, slots=True)
class Grid:
    latencies: Sequence[float]
    users: Sequence[int]
    trials: int
    text: Callable[[float, int, int], str]  # (latency, users, trial) -> scenario file
    seconds: float = 2400.0

    def requests(self, contenders: float, *, trials: int | None = None) -> float:
        return sum(self.users) * self.seconds * len(self.latencies) * (trials or self.trials) * contenders


@dataclass(frozen=True, slots=True)
class Findings:
    grid: Grid
    contenders: Sequence[Contender]
    runs: dict[tuple[str, float, int], list[Run]]
    bounds: dict[tuple[float, int], Run] = field(
        default_factory=dict
    )  # the best static placements, for the first trial

    def p95(self, name: str, latency: float, users: int, *, failures: bool = False) -> list[float]:
        """Per trial, milliseconds."""
        return [
            value
            for run in self.runs[name, latency, users]
            if (value := run["p95_with_failures_ms"] if failures else run["response_ms"]["p95"]) is not None
        ]

    def gain(self, name: str, latency: float, *, failures: bool = False) -> float | None:
        """Published style: the unweighted mean over numbers of users."""
        gains = []
        for users in self.grid.users:
            own = mean(self.p95(name, latency, users, failures=failures))
            base = mean(self.p95(BASELINE, latency, users, failures=failures))
            if own is not None and base:
                gains.append(1.0 - own / base)
        return mean(gains)

    def gain_interval(self, name: str, latency: float) -> tuple[float, float] | None:
        """Over trials: each trial's own mean gain over the numbers of users. Two trials say nothing about a third."""
        if self.grid.trials < FEWEST:
            return None
        per_trial = []
        for trial in range(self.grid.trials):
            gains = []
            for users in self.grid.users:
                own, base = self.p95(name, latency, users), self.p95(BASELINE, latency, users)
                if len(own) == len(base) == self.grid.trials and base[trial]:
                    gains.append(1.0 - own[trial] / base[trial])
            average = mean(gains)
            if average is not None:
                per_trial.append(average)
        return interval95(per_trial)


def run_campaign(
    grid: Grid,
    contenders: Sequence[Contender],
    *,
    seed: int,
    bounds: bool = False,
    workers: int | None = None,
    dask: str | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Findings:
    places: list[tuple[str, float, int]] = []
    jobs: list[Job] = []
    # The largest runs first: the last ones to finish are then short.
    for users in sorted(grid.users, reverse=True):
        for latency in grid.latencies:
            file = f"{latency:g}ms-{users}-users.yaml"
            if bounds:
                jobs.append(Job(grid.text(latency, users, 0), file, BASELINE, 0, seed, BOUND))
                places.append((BOUND, latency, users))
            for trial in range(grid.trials):
                text = grid.text(latency, users, trial)
                for each in contenders:
                    jobs.append(Job(text, file, each.policy, trial, seed, each.variant))
                    places.append((each.name, latency, users))
    runs: dict[tuple[str, float, int], list[Run]] = {}
    found: dict[tuple[float, int], Run] = {}
    done = sweep(jobs, workers=workers, dask=dask, folder=folder, progress=progress)
    for (name, latency, users), run in zip(places, done, strict=True):
        if name == BOUND:
            found[latency, users] = run
        else:
            runs.setdefault((name, latency, users), []).append(run)
    return Findings(grid, contenders, runs, found)
