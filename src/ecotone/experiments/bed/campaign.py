"""What was played of one scenario on a bed, over as many sessions as it took, with the simulator's prediction beside it.

A document of `simulate -o json`, one file per scenario, that grows: runs of another session join those that are there if they
were played in the same form (schedule and seed); what a visit costs and what nodes do before users come is measured by every
session (in its first run in which every pod has a place and none moves), and the prediction is made from the latest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from ecotone.experiments.bed.overhead import with_overhead
from ecotone.experiments.bed.parts import about, store, stored
from ecotone.experiments.bed.playing.contenders import COMPRESSED, Contender
from ecotone.experiments.bed.playing.player import Player
from ecotone.experiments.bed.playing.session import machine, session
from ecotone.experiments.bed.scenarios import scaled
from ecotone.experiments.campaign.comparison import summarise
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Cell, Options, Table
from ecotone.experiments.campaign.runs import figures
from ecotone.experiments.campaign.statistics import significant
from ecotone.scheduling import resolve
from ecotone.sim.control.engine import Engine
from ecotone.sim.randomness import derive
from ecotone.sim.scenario.schema import Scenario
from ecotone.sim.simulation import Simulation

START_SECONDS, RUN_SECONDS = 100.0, 60.0  # of a bed, and of a run beside its scenario's own: for the estimate


@dataclass(slots=True)
class Campaign:
    """`order`: the contenders as they are listed, the baseline first."""

    file: str
    scenario: Scenario
    seed: int
    order: Sequence[str]
    told: Scenario | None = (
        None  # what the simulator is given, where the bed's nodes have room for more than it knows of
    )
    share: float = 1.0
    overhead: dict[str, float] = field(default_factory=dict)  # CPU seconds of a visit beyond its demand, by service
    idle: dict[str, float] = field(default_factory=dict)  # cores in use on each node before users come
    machines: list[dict[str, Any]] = field(default_factory=list)
    played: list[Run] = field(default_factory=list)
    predicted: list[Run] = field(default_factory=list)

    @property
    def form(self) -> dict[str, Any]:
        """What must be the same for runs to stand in one table."""
        scenario = self.scenario
        return {
            "seed": self.seed,
            "warmup": scenario.warmup,
            "phases": [[each.at, each.length] for each in scenario.load],
            "nodes": {node.name: node.cpu for node in scenario.nodes},
            "compressed": COMPRESSED,
        }

    @property
    def calibrated(self) -> bool:
        return bool(self.overhead)

    def take_up(self, folder: Path | None) -> None:
        """Whatever an earlier session left, if it was played in the same form."""
        document = stored(folder, self.file)
        if document.get("form") != self.form:
            return
        self.share = document["cores_per_scenario_core"]
        self.overhead = {name: ms / 1000 for name, ms in document["overhead_ms_per_visit"].items()}
        self.idle = dict(document["idle_cores"])
        self.machines = list(document["machines"])
        self.played = [msgspec.convert(each, Run) for each in document["runs"]]
        self.predicted = [msgspec.convert(each, Run) for each in document["simulated"]["runs"]]

    def has(self, contender: str, trial: int) -> bool:
        return any((each.policy, each.trial) == (contender, trial) for each in self.played)

    def add(self, run: Run, machine: dict[str, Any]) -> None:
        self.played = sorted([*self.played, run], key=lambda each: (self.order.index(each.policy), each.trial))
        if machine not in self.machines:
            self.machines.append(machine)

    def summary(self) -> list[dict[str, Any]]:
        return summarise(self.played)

    def expected(self) -> dict[str, dict[str, Any]]:
        """The prediction's summary by contender."""
        return {each["policy"]: each for each in summarise(self.predicted)}

    def write(self, folder: Path | None) -> None:
        store(
            folder,
            self.file,
            {
                "scenario": self.scenario.name,
                "form": self.form,
                "machines": self.machines,
                "cores_per_scenario_core": significant(self.share),
                "overhead_ms_per_visit": {name: significant(1000 * each, 4) for name, each in self.overhead.items()},
                "idle_cores": {name: significant(cores, 3) for name, cores in self.idle.items()},
                "runs": [each.plain() for each in self.played],
                "summary": self.summary(),
                "simulated": {"runs": [each.plain() for each in self.predicted], "summary": summarise(self.predicted)},
            },
        )


def play_all(
    wanted: Sequence[tuple[Campaign, Sequence[Contender]]],
    trials: int,
    options: Options,
    *,
    between: Callable[[Player, Scenario], None] = lambda _, __: None,
) -> None:
    """Plays what is not stored yet, all of it on one bed, and predicts every run; `between` readies the bed for a scenario."""
    say = options.say or (lambda _: None)
    for campaign, _ in wanted:
        campaign.take_up(options.folder)
    left = [
        (campaign, each, trial)
        for campaign, contenders in wanted
        for trial in range(trials)
        for each in contenders
        if not campaign.has(each.name, trial)
    ]
    length = sum(campaign.scenario.duration + RUN_SECONDS for campaign, _, _ in left) + START_SECONDS
    say(f"{len(left)} runs, {about(length)}" if left else "all runs are stored already")
    if left:
        _play(left, options, say, between)
    for campaign, contenders in wanted:
        predict_all(campaign, contenders, trials)
        campaign.write(options.folder)


def _play(
    left: Sequence[tuple[Campaign, Contender, int]],
    options: Options,
    say: Callable[[str], None],
    between: Callable[[Player, Scenario], None],
) -> None:
    here, now = machine(), None
    with session(left[0][0].scenario, say=say) as player:
        for number, (campaign, contender, trial) in enumerate(left):
            if options.progress is not None:
                options.progress(number, len(left))
            if campaign is not now:
                now = campaign
                between(player, campaign.scenario)
            player.calibrating = not player.calibrated
            campaign.add(player.play(campaign.scenario, contender, trial=trial, seed=options.seed), here)
            campaign.share = player.bed.share
            if player.calibrated:
                campaign.overhead, campaign.idle = player.overhead, player.idle_nodes
            say(f"{campaign.scenario.name}, trial {trial}, {_told(campaign.played, contender, trial)}")
            campaign.write(options.folder)


def _told(runs: Sequence[Run], contender: Contender, trial: int) -> str:
    run = next(each for each in runs if (each.policy, each.trial) == (contender.name, trial))
    times = run.response_ms
    return (
        f"{run.policy}: p95 {significant(times.p95, 4)} ms, mean {significant(times.mean, 4)} ms, "
        f"{run.requests} requests, {run.failed} failed, {run.evictions} moved"
    )


def predict_all(campaign: Campaign, contenders: Sequence[Contender], trials: int) -> None:
    """What the simulator says of the same runs, once what they cost is known."""
    if not campaign.calibrated:
        return
    scenario = scaled(
        with_overhead(campaign.told or campaign.scenario, campaign.overhead), campaign.share, campaign.idle
    )
    named = {each.name: each for each in contenders if each.simulated is not None}
    kept = [each for each in campaign.predicted if each.policy not in named]
    made = [
        predict(scenario, each, trial=trial, seed=campaign.seed) for each in named.values() for trial in range(trials)
    ]
    campaign.predicted = sorted([*kept, *made], key=lambda each: (campaign.order.index(each.policy), each.trial))


def predict(scenario: Scenario, contender: Contender, *, trial: int, seed: int) -> Run:
    """What the simulator says of the same run."""
    assert contender.simulated is not None
    profile = resolve(contender.simulated)
    if profile.descheduler is not None:
        profile = replace(profile, descheduler=replace(profile.descheduler, cool_down=contender.cool_down))
    outcome = Simulation(scenario, Engine(profile), seed=derive(seed, "trial", trial)).run()
    return figures(scenario, outcome, policy=contender.name, trial=trial)


def table(title: str, campaigns: Sequence[Campaign]) -> Table:
    rows: list[list[Cell]] = []
    for campaign in campaigns:
        expected = campaign.expected()
        for number, each in enumerate(campaign.summary()):
            simulated = expected.get(each["policy"], {})
            rows.append(
                [
                    campaign.scenario.name,
                    each["policy"],
                    _short(each["p95_ms"]),
                    _between(each["p95_ci95"]),
                    _percent(each["vs_baseline"]),
                    None if number == 0 else _percents(each["vs_baseline_ci95"]),
                    _short(each["mean_ms"]),
                    _percent(each["failed_share"]),
                    _short(each["evictions"]),
                    each["trials"],
                    _short(simulated.get("p95_ms")),
                    _short(simulated.get("mean_ms")),
                    _short(simulated.get("evictions")),
                ]
            )
    header = ["scenario", "contender", "p95 ms", "95 % interval", "vs kube-default", "its interval", "mean ms",
              "failed", "pods moved", "trials", "simulated p95", "simulated mean", "simulated moves"]  # fmt: skip
    return Table(title, header, rows)


def _short(value: float | None) -> float | None:
    return significant(value, 4)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.1f} %"


def _percents(ends: Sequence[float | None] | None) -> str | None:
    return None if ends is None else " .. ".join(_percent(end) or "-" for end in ends)


def _between(ends: Sequence[float | None] | None) -> str | None:
    return None if ends is None else " .. ".join("-" if end is None else f"{end:.4g}" for end in ends)
