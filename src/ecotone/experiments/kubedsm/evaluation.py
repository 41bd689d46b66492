"""The three sets of experiments: means, deviations, variants.

Every trial draws its load anew, and all policies of a trial meet the same load. Where the
authors' runs are not paired, ours are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ecotone.experiments.campaign.registry import Options, Result
from ecotone.experiments.campaign.runs import Job
from ecotone.experiments.campaign.statistics import significant
from ecotone.experiments.campaign.sweep import sweep
from ecotone.experiments.kubedsm import tables
from ecotone.experiments.kubedsm.measures import exact_placer, measure
from ecotone.experiments.kubedsm.plots import latency_bars
from ecotone.placement.kubedsm.configuration import VARIANTS
from ecotone.scheduling import POLICIES, Profile
from ecotone.scheduling.profiles.profile import Solver
from ecotone.sim.scenario.families.kubedsm import FAMILY, KubeDsm

BASELINES = ("random", "cloud-first", "biggest-edge-first", "smallest-edge-first")
CONTENDERS = tuple(POLICIES[name] for name in ("kube-default", *BASELINES, "kubedsm", "ecotone"))
QUICK = tuple(POLICIES[name] for name in ("kube-default", "kubedsm", "ecotone"))


def variants() -> tuple[Profile, ...]:
    """KubeDSM with the arguments of each published variant, by the variant's name."""
    whole = POLICIES["kubedsm"]
    found = [
        replace(whole, name=name, summary=f"kubedsm, variant {name}", solver=Solver("kubedsm", args))
        for name, args in VARIANTS.items()
    ]
    return (whole, *found)


def run_means(options: Options) -> Result:
    return _compare("kubedsm-means", [each for each in FAMILY if each.deviation == 0.4], options)


def run_sigmas(options: Options) -> Result:
    return _compare("kubedsm-sigmas", [each for each in FAMILY if each.mean == 1.5], options)


def run_variants(options: Options) -> Result:
    scenarios = [each for each in FAMILY if each.name in ("kubedsm-1.3-0.4", "kubedsm-1.4-0.4")]
    found = _measured(scenarios, variants(), options, with_placer=False)
    notes = [
        f"{found['trials']} trials, redrawn and paired; published runs are not paired.",
        "NoMigration and NoCloudOffload are one program: without candidates from the cloud nothing is ever moved. Where the "
        "published figures of the two differ, that is the noise of the published runs.",
    ]
    return Result("kubedsm-variants", [tables.varied(found)], notes, found, _plots("kubedsm-variants", found, options))


def _compare(name: str, scenarios: Sequence[KubeDsm], options: Options) -> Result:
    found = _measured(scenarios, QUICK if options.quick else CONTENDERS, options, with_placer=True)
    notes = [
        f"{found['trials']} trials, redrawn and paired; the published runs are not paired: kube-scheduler and the baselines "
        "of 2025 (random: 2024), KubeDSM of 2024.",
        "Autoscalers with the published settings follow the load: 5 requests per second and pod, 1 to 10 pods.",
        "The exact placer's moves take no time and cost nothing, and its scale-downs take pods in the cloud first.",
        "Latency is counted, as published; `response ms` is the mean of simulated requests, with queueing and starts.",
    ]
    return Result(name, tables.compared(found), notes, found, _plots(name, found, options))


def _plots(name: str, found: tables.Figures, options: Options) -> list[Path]:
    return [] if options.report is None else [latency_bars(found, options.report / f"{name}.svg", title=name)]


def _measured(
    scenarios: Sequence[KubeDsm], profiles: Sequence[Profile], options: Options, *, with_placer: bool
) -> dict[str, Any]:
    """The figures of all trials; the exact placer replays the pods of the first policy's runs."""
    trials = options.runs or (2 if options.quick else 10)
    labels = [(scenario, profile, trial) for scenario in scenarios for profile in profiles for trial in range(trials)]
    jobs = [
        Job(scenario.text(trial + 1), f"{scenario.name}.yaml", profile, trial, options.seed or 1)
        for scenario, profile, trial in labels
    ]
    runs = sweep(jobs, workers=options.workers, dask=options.dask, folder=options.folder, progress=options.progress)
    found: dict[str, Any] = {_short(scenario): {"policies": {}, "placer": []} for scenario in scenarios}
    for (scenario, profile, _), run in zip(labels, runs, strict=True):
        own = found[_short(scenario)]
        row = {**tables.plain(measure(run)), "moved_at": [each.at for each in run.moves]}
        own["policies"].setdefault(profile.name, []).append(row)
        if with_placer and profile is profiles[0]:
            latency, moves = exact_placer(run)
            own["placer"].append([significant(latency), moves])
    return {"trials": trials, "scenarios": found}


def _short(scenario: KubeDsm) -> str:
    return f"{scenario.mean:g}-{scenario.deviation:g}"
