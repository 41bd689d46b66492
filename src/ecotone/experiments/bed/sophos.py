"""`ecotone experiment sophos --on testbed`: the thesis' application on six real nodes, compressed, beside the simulator.

For every latency and trial each contender plays the same scenario: Sock Shop from nothing, users who enter at three nodes one
after the other. The simulator plays the same scenario with the CPU that the bed's nodes really have and what sidecars cost.
Trials are paired: the same trial has the same order of pods and the same users for everybody.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ecotone.experiments.bed.contenders import ECOTONE, HIGH, KUBE_DEFAULT, LOW, SOPHOS, Contender
from ecotone.experiments.bed.overhead import with_overhead
from ecotone.experiments.bed.plots import p95_bars
from ecotone.experiments.bed.scenarios import Schedule, scaled, sock_shop
from ecotone.experiments.bed.session import machine, session, set_network
from ecotone.experiments.campaign.comparison import summarise
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Options, Result, Table
from ecotone.experiments.campaign.runs import figures
from ecotone.experiments.campaign.statistics import significant
from ecotone.scheduling import resolve
from ecotone.sim.control.engine import Engine
from ecotone.sim.randomness import derive
from ecotone.sim.scenario.schema import Scenario
from ecotone.sim.simulation import Simulation

LATENCIES = (10.0, 100.0, 300.0)
PEER_LATENCY = 100.0  # where the upstream descheduler runs beside the others
QUICK = Schedule(warmup=20.0, phase=30.0)


@dataclass(slots=True)
class Findings:
    """Runs by latency, played and predicted, and what they were played on."""

    seed: int
    about: dict[str, Any]
    share: float = 1.0
    overhead: float = 0.0  # CPU seconds of a visit beyond its demand, measured in the first run
    idle: dict[str, float] = field(default_factory=dict)  # cores in use on each node before users come, likewise
    played: dict[float, list[Run]] = field(default_factory=dict)
    predicted: dict[float, list[Run]] = field(default_factory=dict)


def run(options: Options) -> Result:
    latencies = [float(each) for each in options.latencies or LATENCIES]
    trials = options.runs or (1 if options.quick else 3)
    schedule = QUICK if options.quick else Schedule()
    say = options.say or (lambda _: None)
    first = sock_shop(latencies[0], schedule)
    found = Findings(options.seed, machine())
    total = sum(trials * len(contenders_at(each, options)) for each in latencies)
    say(f"{total} runs of {first.duration:g} s, about {round(total * (first.duration + 75) / 60)} minutes")
    with session(first, say=say) as player:
        found.share = player.bed.share
        player.calibrating = True  # in the first run
        for latency in latencies:
            scenario = sock_shop(latency, schedule)
            set_network(player, scenario)
            runs = found.played.setdefault(latency, [])
            for trial in range(trials):
                for each in contenders_at(latency, options):
                    runs.append(player.play(scenario, each, trial=trial, seed=options.seed))
                    say(_line(latency, runs[-1]))
                    if player.calibrating:
                        player.calibrating = False
                        found.overhead, found.idle = player.overhead, player.idle_nodes
                    if options.progress is not None:
                        options.progress(sum(len(runs) for runs in found.played.values()), total)
                    if options.folder is not None:
                        write(options.folder, found)
    for latency in latencies:
        scenario = scaled(with_overhead(sock_shop(latency, schedule), found.overhead), found.share, found.idle)
        found.predicted[latency] = [
            predict(scenario, each, trial=trial, seed=options.seed)
            for trial in range(trials)
            for each in contenders_at(latency, options)
            if each.simulated is not None
        ]
    plots = []
    if options.folder is not None:
        write(options.folder, found)
    if options.report is not None:
        options.report.mkdir(parents=True, exist_ok=True)
        summaries = {latency: summarise(runs) for latency, runs in found.played.items()}
        plots.append(p95_bars(summaries, options.report / "testbed-sophos.svg"))
    notes = [
        f"Machine: {found.about['cores']} cores, {found.about['cpu']}, load {found.about['load_average']} when it began."
    ]
    return Result("sophos on the test bed", [table(found)], notes, _figures(found), plots)


def contenders_at(latency: float, options: Options) -> Sequence[Contender]:
    peers = (LOW, HIGH) if latency == PEER_LATENCY and not options.quick else ()
    return (KUBE_DEFAULT, SOPHOS, ECOTONE, *peers)


def predict(scenario: Scenario, contender: Contender, *, trial: int, seed: int) -> Run:
    """What the simulator says of the same run."""
    assert contender.simulated is not None
    profile = resolve(contender.simulated)
    outcome = Simulation(scenario, Engine(profile), seed=derive(seed, "trial", trial)).run()
    return figures(scenario, outcome, policy=contender.name, trial=trial)


def table(found: Findings) -> Table:
    rows = []
    for latency, runs in found.played.items():
        expected = {each["policy"]: each for each in summarise(found.predicted.get(latency, []))}
        for each in summarise(runs):
            simulated = expected.get(each["policy"], {})
            rows.append(
                [
                    significant(latency),
                    each["policy"],
                    _short(each["p95_ms"]),
                    _between(each["p95_ci95"]),
                    _percent(each["vs_baseline"]),
                    _percents(each["vs_baseline_ci95"]),
                    _short(each["mean_ms"]),
                    _percent(each["failed_share"]),
                    _short(each["evictions"]),
                    _short(simulated.get("p95_ms")),
                    _short(simulated.get("mean_ms")),
                    _short(simulated.get("evictions")),
                ]
            )
    header = ["latency ms", "contender", "p95 ms", "95 % interval", "vs kube-default", "95 % interval", "mean ms", "failed",
              "pods moved", "simulated p95", "simulated mean", "simulated moves"]  # fmt: skip
    return Table("Sock Shop on six real nodes, and the simulator's prediction of the same runs", header, rows)


def write(folder: Path, found: Findings) -> None:
    """One file per latency, in the form of `simulate -o json`, with the machine and the prediction beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    for latency, runs in found.played.items():
        predicted = found.predicted.get(latency, [])
        document = {
            "scenario": f"sock-shop-bed-{latency:g}ms",
            "seed": found.seed,
            "machine": found.about,
            "cores_per_scenario_core": significant(found.share),
            "overhead_ms_per_visit": significant(1000 * found.overhead, 4),
            "idle_cores": {name: significant(cores, 3) for name, cores in found.idle.items()},
            "runs": [each.plain() for each in runs],
            "summary": summarise(runs),
            "simulated": {"runs": [each.plain() for each in predicted], "summary": summarise(predicted)},
        }
        (folder / f"testbed-sophos-{latency:g}ms.json").write_text(json.dumps(document, indent=1) + "\n")


def _figures(found: Findings) -> dict[str, Any]:
    return {
        f"{latency:g}ms": {"testbed": summarise(runs), "simulator": summarise(found.predicted.get(latency, []))}
        for latency, runs in found.played.items()
    }


def _line(latency: float, run: Run) -> str:
    times = run.response_ms
    return (
        f"{latency:g} ms, trial {run.trial}, {run.policy}: p95 {_short(times.p95)} ms, mean {_short(times.mean)} ms, "
        f"{run.requests} requests, {run.failed} failed, {run.evictions} moved"
    )


def _short(value: float | None) -> float | None:
    return significant(value, 4)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f} %"


def _between(ends: Sequence[float | None] | None) -> str | None:
    return None if ends is None else " .. ".join("-" if end is None else f"{end:.4g}" for end in ends)


def _percents(ends: Sequence[float | None] | None) -> str | None:
    return None if ends is None else " .. ".join("-" if end is None else f"{100 * end:.0f} %" for end in ends)
