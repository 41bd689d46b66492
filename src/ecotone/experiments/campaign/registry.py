"""Experiments by name, each a reproduction of a published table or figure with the published numbers beside ours.

An experiment is a function of a few options that returns tables; the command line prints them and writes the plots.
What is published and what we computed are different columns of the same row, and every difference carries a sentence
in `notes`.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ecotone.model.errors import InputError, did_you_mean
from ecotone.scheduling.profiles.profile import Profile

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class Options:
    """`runs` repetitions from `seed` on; plots and data go to `report` when given; `quick` trims what takes minutes.

    The rest is for simulated campaigns: which latencies and numbers of users, named variants, policies beside the published
    ones, where the runs are done (processes or a Dask scheduler), where finished ones are kept, and whom to tell. On a test
    bed, where time is real: only some parts (`only`), and so many `seconds` of each.
    """

    runs: int | None = None
    seed: int = 1
    report: Path | None = None
    quick: bool = False
    latencies: Sequence[float] = ()
    users: Sequence[int] = ()
    variant: Mapping[str, bool] = field(default_factory=dict)
    policies: Sequence[Profile] = ()
    workers: int | None = None
    dask: str | None = None
    folder: Path | None = None
    testbed: bool = False
    only: Sequence[str] = ()
    seconds: float | None = None
    command: str = ""
    """What a person would type to run it again."""
    progress: Callable[[float, int], None] | None = None
    say: Callable[[str], None] | None = None

    def say_duration(self, requests: float, *, per_second: float = 25_000.0) -> None:
        """Tell beforehand how long a campaign of so many simulated requests takes on this machine."""
        if self.say is not None and self.dask is None:
            minutes = max(1, round(requests / per_second / (self.workers or os.cpu_count() or 1) / 60))
            long = "a minute" if minutes == 1 else f"{minutes} minutes"
            self.say(
                f"{requests / 1e6:.1f} million requests to simulate, about {long} if the machine has nothing else to do"
            )


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, slots=True)
class Result:
    """`figures` is the same in a shape for machines; `plots` are the files written."""

    name: str
    tables: Sequence[Table]
    notes: Sequence[str] = ()
    figures: Mapping[str, Any] = field(default_factory=dict)
    plots: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Experiment:
    name: str
    summary: str
    target: str
    """`module:function`, imported when the experiment runs: some need plotting and solvers."""
    more_policies: bool = False
    on_testbed: str | None = None
    """The same on real nodes, where there is such a thing."""
    real: bool = False
    """True if it is on real nodes in any case."""

    def run(self, options: Options) -> Result:
        if options.policies and not self.more_policies:
            able = ", ".join(each.name for each in EXPERIMENTS.values() if each.more_policies)
            raise InputError(
                f"{self.name} compares fixed policies: --policy has no place in it", hint=f"use it with {able}"
            )
        if (options.only or options.seconds is not None) and not (self.real or options.testbed):
            able = ", ".join(each.name for each in EXPERIMENTS.values() if each.real)
            raise InputError(
                f"{self.name} is not on a test bed: --only and --seconds have no place in it",
                hint=f"use them with {able}, or with --on testbed",
            )
        module, _, attribute = self._target(options).partition(":")
        function: Callable[[Options], Result] = getattr(import_module(module), attribute)
        return function(options)

    def _target(self, options: Options) -> str:
        if not options.testbed:
            return self.target
        if self.on_testbed is None:
            able = ", ".join(each.name for each in EXPERIMENTS.values() if each.on_testbed)
            raise InputError(f"{self.name} cannot be run on a test bed", hint=f"these can: {able}")
        return self.on_testbed


EXPERIMENTS: dict[str, Experiment] = {}


def register(
    name: str,
    summary: str,
    target: str,
    *,
    more_policies: bool = False,
    on_testbed: str | None = None,
    real: bool = False,
) -> None:
    EXPERIMENTS[name] = Experiment(name, summary, target, more_policies, on_testbed, real)


def find(name: str) -> Experiment:
    experiment = EXPERIMENTS.get(name)
    if experiment is None:
        hint = did_you_mean(name, EXPERIMENTS) or f"known: {', '.join(sorted(EXPERIMENTS))}"
        raise InputError(f"unknown experiment {name!r}", hint=hint)
    return experiment


register(
    "sophos",
    "thesis 2023, chapter 5: gains in p95 at five latencies, with confidence",
    "ecotone.experiments.sophos.evaluation:run",
    more_policies=True,
    on_testbed="ecotone.experiments.bed.sophos:run",
)
register(
    "sophos-dag", "DAG workflows 2023, Fig. 3: gains in p95 at three latencies", "ecotone.experiments.sophos.dag:run"
)
register(
    "sophos-ablation",
    "Sophos taken apart: scheduler, descheduler, network term and resource term alone",
    "ecotone.experiments.sophos.evaluation:run_ablation",
)
register(
    "sophos-sensitivity",
    "Sophos under other weights, message sizes and numbers of replicas",
    "ecotone.experiments.sophos.sensitivity:run",
)
register(
    "communication-aware",
    "CLOSER 2022, closing claim: with more publish traffic a new gateway goes to node0 and responses get faster",
    "ecotone.experiments.closer.messaging:run",
    on_testbed="ecotone.experiments.bed.applications:run_messaging",
)
register(
    "pogonip-1",
    "Pogonip 2021, Fig. 3: one application on seven edge nodes, delay to its queue under five policies",
    "ecotone.experiments.pogonip.one:run",
    on_testbed="ecotone.experiments.bed.applications:run_taxi",
)
register(
    "pogonip-2",
    "Pogonip 2021, Figs. 4 and 5: eight applications on edge and cloud, deployed, forwarded, price and delay",
    "ecotone.experiments.pogonip.two:run",
)
register(
    "pogonip-time",
    "Pogonip 2021, table II: resolution times, and scaling far beyond it",
    "ecotone.experiments.pogonip.time:run",
)
register(
    "kubedsm-means",
    "KubeDSM 2024, Figs. 4 to 7: counted latency on the edge and in the cloud, demand from 1.1 to 1.6 of the edge",
    "ecotone.experiments.kubedsm.evaluation:run_means",
    on_testbed="ecotone.experiments.bed.applications:run_stress",
)
register(
    "kubedsm-sigmas",
    "KubeDSM 2024, Figs. 8 to 12: the same at 1.5, with deviations from 0.1 to 0.5",
    "ecotone.experiments.kubedsm.evaluation:run_sigmas",
)
register(
    "kubedsm-variants",
    "KubeDSM 2024, Figs. 13 to 15: promises and migrations varied",
    "ecotone.experiments.kubedsm.evaluation:run_variants",
)
register(
    "agreement",
    "the simulator held against the test bed: three placements of Sock Shop, mean and p95 (root)",
    "ecotone.experiments.bed.agreement:run",
    real=True,
)
register(
    "faults",
    "on the test bed: power cut, partition, stopped kubelet and Prometheus, network and clock that jump (root)",
    "ecotone.experiments.bed.faults:run",
    real=True,
)
