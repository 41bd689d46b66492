"""`ecotone experiment agreement`: the simulator held against the bed, placement by placement.

Services stay where they are put, nothing moves: what is compared is the model of network and CPU alone. The same scenario,
with the CPU that the nodes really have and what sidecars and HTTP were measured to cost per visit, is simulated several times;
the bed plays it once per trial. Differences are relative to what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ecotone.experiments.bed.contenders import KUBE_DEFAULT
from ecotone.experiments.bed.overhead import with_overhead
from ecotone.experiments.bed.scenarios import Schedule, pinned, scaled, sock_shop
from ecotone.experiments.bed.session import machine, session
from ecotone.experiments.bed.sophos import predict
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
        "all in the cloud": dict.fromkeys(free, "cloud-1"),
        "all on edge-1": dict.fromkeys(free, "edge-1"),
        "spread": {name: nodes[number % len(nodes)] for number, name in enumerate(free)},
    }


def run(options: Options) -> Result:
    say = options.say or (lambda _: None)
    schedule = Schedule(warmup=10.0, phase=20.0 if options.quick else 60.0)
    latency = float(options.latencies[0]) if options.latencies else LATENCY
    scenario = sock_shop(latency, schedule)
    played: dict[str, list[Run]] = {}
    about = machine()
    with session(scenario, say=say) as player:
        share = player.bed.share
        player.calibrating = True
        overheads: list[float] = []
        idle: dict[str, dict[str, float]] = {}
        for name, placement in placements(scenario).items():
            for trial in range(options.runs or 1):
                found = player.play(pinned(scenario, placement), KUBE_DEFAULT, trial=trial, seed=options.seed)
                played.setdefault(name, []).append(found)
                overheads.append(player.overhead)
                idle[name] = player.idle_nodes
                say(f"{name}: p95 {found.response_ms.p95} ms, mean {found.response_ms.mean} ms, {found.failed} failed")
    overhead = mean(overheads) or 0.0
    rows = {
        name: _compare(
            scaled(with_overhead(pinned(scenario, placements(scenario)[name]), overhead), share, idle[name]),
            runs,
            options.seed,
        )
        for name, runs in played.items()
    }
    for name, row in rows.items():
        row["idle_cores"] = {node: significant(cores, 3) for node, cores in idle[name].items()}
    figures = {
        "machine": about,
        "scenario": scenario.name,
        "overhead_ms_per_visit": significant(1000 * overhead, 4),
        "placements": rows,
    }
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        (options.folder / f"testbed-agreement-{latency:g}ms.json").write_text(json.dumps(figures, indent=1) + "\n")
    return Result("agreement", [_table(rows)], [_verdict(rows)], figures)


def _verdict(rows: Mapping[str, Mapping[str, Any]]) -> str:
    beyond = [
        f"{name} ({what} {_percent(row[f'{what}_difference'])})"
        for name, row in rows.items()
        for what in ("mean", "p95")
        if row[f"{what}_difference"] is None or abs(row[f"{what}_difference"]) > WITHIN
    ]
    return f"Beyond {WITHIN:.0%}: {', '.join(beyond)}." if beyond else f"All within {WITHIN:.0%}."


def _compare(scenario: Scenario, runs: list[Run], seed: int) -> dict[str, Any]:
    simulated = [predict(scenario, KUBE_DEFAULT, trial=trial, seed=seed) for trial in range(SIMULATED_TRIALS)]
    found: dict[str, Any] = {"utilisation": runs[0].utilisation, "failed": sum(run.failed for run in runs)}
    for what in ("mean", "p95"):
        measured = mean(known(getattr(run.response_ms, what) for run in runs))
        expected = mean(known(getattr(run.response_ms, what) for run in simulated))
        found |= {f"{what}_ms": significant(measured), f"simulated_{what}_ms": significant(expected)}
        found[f"{what}_difference"] = None if not measured or not expected else significant(expected / measured - 1, 3)
    return found


def _table(rows: Mapping[str, Mapping[str, Any]]) -> Table:
    header = ["placement", "mean ms", "simulated", "difference", "p95 ms", "simulated", "difference", "failed"]
    lines = [
        [name, _ms(row["mean_ms"]), _ms(row["simulated_mean_ms"]), _percent(row["mean_difference"]),
         _ms(row["p95_ms"]), _ms(row["simulated_p95_ms"]), _percent(row["p95_difference"]), row["failed"]]
        for name, row in rows.items()
    ]  # fmt: skip
    return Table("Sock Shop where it was put, measured on real nodes and simulated", header, lines)


def _ms(value: float | None) -> float | None:
    return significant(value, 4)


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:+.1f} %"
