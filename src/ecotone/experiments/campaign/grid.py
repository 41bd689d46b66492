"""A grid of scenarios under several policies, and the gains over the default scheduler.

A cell of the grid is one latency and one number of users. gain(cell) = 1 - p95(policy) / p95(kube-default), p95 being the
mean over trials; a latency's gain is the unweighted mean over its numbers of users, as published evaluations take it.
Intervals are over trials, each of which meets the same users under every policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ecotone.experiments.campaign.best_static.bound import NAME as BOUND
from ecotone.experiments.campaign.comparison import gain, known, p95_values, paired_gains
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.runs import Job
from ecotone.experiments.campaign.statistics import interval95, mean
from ecotone.experiments.campaign.sweep import Progress, sweep
from ecotone.scheduling import Profile

BASELINE = "kube-default"
FEWEST = 3  # trials for an interval


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
    contenders: Sequence[Profile]
    runs: dict[tuple[str, float, int], list[Run]]
    bounds: dict[tuple[float, int], Run] = field(
        default_factory=dict
    )  # the best static placements, for the first trial

    def p95(self, name: str, latency: float, users: int, *, failures: bool = False) -> list[float]:
        """Per trial, milliseconds."""
        return p95_values(self.runs[name, latency, users], failures=failures)

    def gain(self, name: str, latency: float, *, failures: bool = False) -> float | None:
        """Published style: the unweighted mean over numbers of users."""
        return mean(
            known(
                gain(self.runs[name, latency, users], self.runs[BASELINE, latency, users], failures=failures)
                for users in self.grid.users
            )
        )

    def gain_interval(self, name: str, latency: float) -> tuple[float, float] | None:
        """Over trials: each trial's own mean gain over the numbers of users. Two trials say nothing about a third."""
        if self.grid.trials < FEWEST:
            return None
        by_users = [
            paired_gains(self.runs[name, latency, users], self.runs[BASELINE, latency, users])
            for users in self.grid.users
        ]
        per_trial = [
            mean([gains[trial] for gains in by_users if len(gains) == self.grid.trials])
            for trial in range(self.grid.trials)
        ]
        return interval95(known(per_trial))


def run_campaign(
    grid: Grid,
    contenders: Sequence[Profile],
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
                jobs.append(Job(grid.text(latency, users, 0), file, BASELINE, 0, seed, bound=True))
                places.append((BOUND, latency, users))
            for trial in range(grid.trials):
                text = grid.text(latency, users, trial)
                for each in contenders:
                    jobs.append(Job(text, file, each, trial, seed))
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
