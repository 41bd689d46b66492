"""`ecotone experiment agreement`: the simulator held against the bed, placement by placement.

Services stay where they are put, nothing moves: what is compared is the model of network and CPU alone. The same scenario,
with the CPU that the nodes really have and what a visit to each service was measured to cost, is simulated several times; the
bed plays it once per trial. Differences are relative to what was measured.

Response times are those of a machine that has nothing else to do. The model of CPU can also be judged on a busy one, by what
nodes have used: a visit's cost is measured in all the other placements and must foretell this one's CPU seconds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ecotone.experiments.bed.campaign import RUN_SECONDS, START_SECONDS, predict
from ecotone.experiments.bed.overhead import asked, with_overhead
from ecotone.experiments.bed.parts import about, chosen, store, stored
from ecotone.experiments.bed.playing.contenders import KUBE_DEFAULT
from ecotone.experiments.bed.playing.player import Player
from ecotone.experiments.bed.playing.session import machine, session
from ecotone.experiments.bed.scenarios import Schedule, pinned, scaled, sock_shop
from ecotone.experiments.campaign.comparison import known
from ecotone.experiments.campaign.record import Run
from ecotone.experiments.campaign.registry import Options, Result, Table
from ecotone.experiments.campaign.statistics import mean, significant
from ecotone.sim.scenario.schema import Scenario

LATENCY = 100.0
WITHIN = 0.15
SIMULATED_TRIALS = 5


def placements(scenario: Scenario) -> dict[str, dict[str, str]]:
    """Everything in the cloud; at the edge where users enter; spread over all nodes, one service after the other."""
    free = [each.name for each in scenario.application.services if each.pinned is None]
    nodes = [node.name for node in scenario.nodes]
    return {
        "cloud": dict.fromkeys(free, "cloud-1"),
        "edge": dict.fromkeys(free, "edge-1"),
        "spread": {name: nodes[number % len(nodes)] for number, name in enumerate(free)},
    }


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """One run of one placement, with what it cost: CPU seconds by service, visits, and cores in use before users came."""

    trial: int
    mean_ms: float | None
    p95_ms: float | None
    requests: int
    failed: int
    spent_seconds: dict[str, float]
    demand_seconds: dict[str, float]
    visits: dict[str, float]
    idle_cores: dict[str, float]
    utilisation: dict[str, float | None]
    machine: dict[str, Any]


@dataclass(slots=True)
class Agreement:
    """Every run of every placement so far, over as many sessions as it took."""

    file: str
    scenario: Scenario
    seed: int
    share: float = 1.0
    played: dict[str, list[Played]] = field(default_factory=dict)

    @property
    def form(self) -> dict[str, Any]:
        """What must be the same for runs to stand in one table."""
        return {"seed": self.seed, "phases": [[each.at, each.length] for each in self.scenario.load]}

    def take_up(self, folder: Path | None) -> None:
        document = stored(folder, self.file)
        if document.get("form") == self.form:
            self.share = document["cores_per_scenario_core"]
            for name, each in document["placements"].items():
                self.played[name] = msgspec.convert(each["runs"], list[Played])

    def has(self, name: str, trial: int) -> bool:
        return any(one.trial == trial for one in self.played.get(name, []))

    def document(self) -> dict[str, Any]:
        """What is stored: every run, and the comparison made from all of them."""
        overhead = visit_costs([one for runs in self.played.values() for one in runs])
        where = placements(self.scenario)
        rows = {}
        for name in (name for name in where if name in self.played):
            runs = self.played[name]
            others = [one for other, ones in self.played.items() if other != name for one in ones]
            idle = {node: mean([one.idle_cores[node] for one in runs]) or 0.0 for node in runs[0].idle_cores}
            told = scaled(with_overhead(pinned(self.scenario, where[name]), overhead), self.share, idle)
            rows[name] = {
                **_compare(told, runs, self.seed),
                **_cpu(runs, others),
                "runs": [msgspec.to_builtins(one) for one in runs],
            }
        return {
            "scenario": self.scenario.name,
            "form": self.form,
            "cores_per_scenario_core": significant(self.share),
            "overhead_ms_per_visit": {name: significant(1000 * each, 4) for name, each in overhead.items()},
            "placements": rows,
        }


def run(options: Options) -> Result:
    say = options.say or (lambda _: None)
    latency = float(options.latencies[0]) if options.latencies else LATENCY
    scenario = sock_shop(latency, Schedule(warmup=10.0, phase=options.seconds or (20.0 if options.quick else 60.0)))
    wanted = chosen(placements(scenario), options.only)
    so_far = Agreement(f"testbed-agreement-{latency:g}ms.json", scenario, options.seed)
    so_far.take_up(options.folder)
    left = [(name, trial) for trial in range(options.runs or 1) for name in wanted if not so_far.has(name, trial)]
    length = START_SECONDS + len(left) * (scenario.duration + RUN_SECONDS)
    say(f"{len(left)} runs, {about(length)}" if left else "all runs are stored already")
    if left:
        here = machine()
        with session(scenario, say=say) as player:
            so_far.share = player.bed.share
            for number, (name, trial) in enumerate(left):
                if options.progress is not None:
                    options.progress(number, len(left))
                one = _play(player, pinned(scenario, wanted[name]), trial=trial, seed=options.seed, machine=here)
                so_far.played.setdefault(name, []).append(one)
                say(f"{name}: mean {one.mean_ms} ms, p95 {one.p95_ms} ms, {one.requests} requests, {one.failed} failed")
                store(options.folder, so_far.file, so_far.document())
    figures = so_far.document()
    rows = figures["placements"]
    return Result("agreement", [_table(rows)], [_verdict(rows)], figures)


def _play(player: Player, scenario: Scenario, *, trial: int, seed: int, machine: dict[str, Any]) -> Played:
    player.calibrating = True
    found = player.play(scenario, KUBE_DEFAULT, trial=trial, seed=seed)
    costs = asked(scenario, player.sent)
    return Played(
        trial=trial,
        mean_ms=found.response_ms.mean,
        p95_ms=found.response_ms.p95,
        requests=found.requests,
        failed=found.failed,
        spent_seconds=_rounded(player.spent),
        demand_seconds=_rounded({service: seconds for service, (seconds, _) in costs.items()}),
        visits=_rounded({service: visits for service, (_, visits) in costs.items()}),
        idle_cores=_rounded(player.idle_nodes),
        utilisation=dict(found.utilisation),
        machine=machine,
    )


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(each, 6) for name, each in values.items()}


def visit_costs(runs: Sequence[Played]) -> dict[str, float]:
    """By service: CPU seconds of a visit beyond its demand, over all these runs."""
    visits: dict[str, float] = {}
    beyond: dict[str, float] = {}
    for one in runs:
        for name, times in one.visits.items():
            visits[name] = visits.get(name, 0.0) + times
            spent = one.spent_seconds.get(name, 0.0) - one.demand_seconds[name]
            beyond[name] = beyond.get(name, 0.0) + spent
    return {name: beyond[name] / times for name, times in visits.items() if times}


def _cpu(runs: Sequence[Played], others: Sequence[Played]) -> dict[str, Any]:
    """CPU seconds of the application, measured here and foretold from what visits cost in the other placements."""
    costs = visit_costs(others)
    measured = sum(sum(one.spent_seconds.values()) for one in runs)
    expected = sum(
        one.demand_seconds[name] + costs.get(name, 0.0) * times for one in runs for name, times in one.visits.items()
    )
    difference = None if not measured or not others else expected / measured - 1
    return {
        "cpu_seconds": significant(measured, 4),
        "foretold_cpu_seconds": significant(expected, 4) if others else None,
        "cpu_difference": significant(difference, 3),
    }


def _verdict(rows: Mapping[str, Mapping[str, Any]]) -> str:
    beyond = [
        f"{name} ({what} {_percent(row[f'{what}_difference'])})"
        for name, row in rows.items()
        for what in ("mean", "p95")
        if row[f"{what}_difference"] is None or abs(row[f"{what}_difference"]) > WITHIN
    ]
    return f"Beyond {WITHIN:.0%}: {', '.join(beyond)}." if beyond else f"All within {WITHIN:.0%}."


def _compare(scenario: Scenario, runs: Sequence[Played], seed: int) -> dict[str, Any]:
    simulated: list[Run] = [
        predict(scenario, KUBE_DEFAULT, trial=trial, seed=seed) for trial in range(SIMULATED_TRIALS)
    ]
    found: dict[str, Any] = {"failed": sum(one.failed for one in runs)}
    for what in ("mean", "p95"):
        measured = mean(known(getattr(one, f"{what}_ms") for one in runs))
        expected = mean(known(getattr(each.response_ms, what) for each in simulated))
        found |= {f"{what}_ms": significant(measured), f"simulated_{what}_ms": significant(expected)}
        found[f"{what}_difference"] = None if not measured or not expected else significant(expected / measured - 1, 3)
    return found


def _table(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    header = ["placement", "mean ms", "simulated", "difference", "p95 ms", "simulated", "difference", "failed", "CPU s",
              "foretold", "difference"]  # fmt: skip
    lines = [
        [name, _ms(row["mean_ms"]), _ms(row["simulated_mean_ms"]), _percent(row["mean_difference"]),
         _ms(row["p95_ms"]), _ms(row["simulated_p95_ms"]), _percent(row["p95_difference"]), row["failed"],
         row["cpu_seconds"], row["foretold_cpu_seconds"], _percent(row["cpu_difference"])]
        for name, row in rows.items()
    ]  # fmt: skip
    return Table("Sock Shop where it was put, measured on real nodes and simulated", header, lines)


def _ms(value: float | None) -> float | None:
    return significant(value, 4)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:+.1f} %"
