"""Pogonip, first experiment (section VII-B, Fig. 3): one application, seven edge nodes, no cloud.

What is compared is the delay between each microservice and its queue. First-fit and Round-robin are deterministic
once the node list and the pods' order are known, so they must come out exactly; the heuristic breaks ties at random,
so what must come out is the set of its possible outcomes; kube-scheduler's draw decides its placement, so it gets a
distribution.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from ecotone.experiments.campaign.registry import Cell, Options, Result, Table
from ecotone.experiments.pogonip.kubernetes import scheduled
from ecotone.placement.exact.aggregated_model import AggregatedModel
from ecotone.placement.exact.milp import Objective
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.pogonip import pogonip
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import Placement, figures, latencies
from ecotone.placement.problem.taxi import DELAY_BOUND_MS, scenario_1

RUNS = 200
PAPER_RUNS = 5

PUBLISHED: dict[str, dict[str, Cell]] = {
    "first-fit": {"mean": 56.25, "median": 57.5, "min": 15.0, "max": None, "nodes": "4"},
    "round-robin": {"mean": None, "median": None, "min": None, "max": None, "nodes": "5"},
    "kube-default": {"mean": 56.0, "median": 35.0, "min": None, "max": None, "nodes": "5"},
    "pogonip": {"mean": 21.5, "median": 22.5, "min": None, "max": 35.0, "nodes": None},
    "pogonip-opt": {"mean": 17.5, "median": 20.0, "min": None, "max": None, "nodes": "3"},
}
NOTES = (
    "first-fit and round-robin: the published placements, pod by pod; the circle's position outlives a run.",
    "pogonip: ties are drawn, so single runs differ. Six outcomes are possible, all are reached, and the published mean "
    "of five runs lies within their range.",
    "pogonip-opt: the paper minimises nodes alone; many placements on three nodes are optimal then, and which one is "
    "reported is the solver's whim. Delay as a later objective gives the best of them: below the published 17.5 ms.",
    "kube-default: it scores by the machine's CPU and memory, which every node reports alike, so the placement is the "
    "draw's. The paper's five runs used five workers each; the scores of today's kube-scheduler are whole numbers in "
    "which one small pod on a large machine is invisible, so two pods share a node now and then. Not reproduced exactly.",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One policy's delays over its runs."""

    policy: str
    runs: tuple[tuple[float, ...], ...]
    nodes: tuple[int, ...]

    @property
    def delays(self) -> np.ndarray:
        return np.array([value for run in self.runs for value in run])


def run(options: Options) -> Result:
    instance = scenario_1()
    samples = [
        _sample(instance, "first-fit", [scheduled(instance, "first-fit").placement(instance)]),
        _sample(instance, "round-robin", _circle(instance)),
        _sample(instance, "kube-default", _kube(instance, options)),
        _sample(instance, "pogonip", _heuristic(instance, options)),
        _sample(instance, "pogonip-opt", [pogonip_opt(instance, time_limit=None).placement]),
    ]
    low, high = optimal_range(instance)
    outcomes = Counter(tuple(sorted(delays)) for delays in samples[3].runs)
    tables = [_figure_3(samples), _outcomes(outcomes)]
    chance = chance_of_five(sorted(outcomes), mean=21.5, middle=22.5)
    notes = [
        *NOTES,
        f"the placements on the fewest nodes have mean delays from {low:g} to {high:g} ms.",
        f"five runs with these outcomes, equally likely, show exactly the published 21.5 and 22.5 ms in {chance:.1%} of cases.",
    ]
    data = {
        "policies": {
            each.policy: {"runs": [list(r) for r in each.runs], "nodes": list(each.nodes)} for each in samples
        },
        "optimal_mean_range_ms": [low, high],
        "pogonip_outcomes": {" ".join(f"{v:g}" for v in key): count for key, count in sorted(outcomes.items())},
    }
    plots = []
    if options.report is not None:
        from ecotone.experiments.pogonip.plots import delay_boxes

        boxes = {each.policy: each.delays for each in samples}
        title = "One application on seven edge nodes (Fig. 3)"
        plots.append(delay_boxes(boxes, options.report / "pogonip-1-delay.svg", title=title, bound=DELAY_BOUND_MS))
    return Result(name="pogonip-1", tables=tables, notes=notes, figures=data, plots=plots)


def optimal_range(instance: Instance) -> tuple[float, float]:
    """Smallest and largest mean delay among the placements on the fewest nodes."""
    means = []
    for sign in (1.0, -1.0):
        model = AggregatedModel(instance, admission=False)
        for objective in (model.forwarded(), model.nodes()):
            _, stage = model.model.minimise(objective)
            assert stage.value is not None
            model.model.limit(objective, stage.value)
        delay = model.latency()
        signed = Objective("delay", delay.columns, sign * delay.coefficients, integral=False, lower=-np.inf)
        _, stage = model.model.minimise(signed)
        assert stage.value is not None
        means.append(sign * stage.value / sum(len(each.microservices) for each in instance.applications))
    return round(means[0], 6), round(means[1], 6)


def chance_of_five(outcomes: list[tuple[float, ...]], *, mean: float, middle: float) -> float:
    """How often five draws among the outcomes have exactly this mean and median."""
    hits = total = 0
    for runs in combinations_with_replacement(outcomes, PAPER_RUNS):
        ways = factorial(PAPER_RUNS)
        for repeats in Counter(runs).values():
            ways //= factorial(repeats)
        total += ways
        delays = [value for run_ in runs for value in run_]
        hits += ways if (float(np.mean(delays)), float(np.median(delays))) == (mean, middle) else 0
    return hits / total


def _circle(instance: Instance) -> list[Placement]:
    placements: list[Placement] = []
    memory: Mapping[str, object] = {}
    for _ in range(PAPER_RUNS):
        turn = scheduled(instance, "round-robin", memory=memory)
        memory = turn.memory
        placements.append(turn.placement(instance))
    return placements


def _kube(instance: Instance, options: Options) -> list[Placement]:
    runs = options.runs or RUNS
    seeds = range(options.seed, options.seed + runs)
    return [scheduled(instance, "kube-default", seed=seed).placement(instance) for seed in seeds]


def _heuristic(instance: Instance, options: Options) -> list[Placement]:
    runs = options.runs or RUNS
    return [pogonip(instance, tie="random", seed=seed) for seed in range(options.seed, options.seed + runs)]


def _sample(instance: Instance, policy: str, placements: Iterable[Placement]) -> Sample:
    listed = list(placements)
    return Sample(
        policy=policy,
        runs=tuple(tuple(latencies(instance, each)) for each in listed),
        nodes=tuple(figures(instance, each).edge_nodes_used for each in listed),
    )


def _figure_3(samples: list[Sample]) -> Table:
    header = ["policy", "runs", "mean ms", "published", "median ms", "published", "min", "max", "published max", "nodes",
              "published nodes", "beyond 50 ms"]  # fmt: skip
    rows: list[list[Cell]] = []
    for each in samples:
        told, delays = PUBLISHED[each.policy], each.delays
        few, many = min(each.nodes), max(each.nodes)
        rows.append(
            [
                each.policy,
                len(each.runs),
                round(float(delays.mean()), 2),
                told["mean"],
                round(float(np.median(delays)), 2),
                told["median"],
                float(delays.min()),
                float(delays.max()),
                told["max"],
                str(few) if few == many else f"{few}-{many}",
                told["nodes"],
                f"{float((delays > DELAY_BOUND_MS).mean()):.0%}",
            ]
        )
    return Table(title="Delay between microservices and queue, one application (Fig. 3)", header=header, rows=rows)


def _outcomes(outcomes: Counter[tuple[float, ...]]) -> Table:
    total = sum(outcomes.values())
    rows: list[list[Cell]] = [
        [", ".join(f"{value:g}" for value in key), count, f"{count / total:.1%}", round(float(np.mean(key)), 2)]
        for key, count in sorted(outcomes.items())
    ]
    return Table(
        title="What pogonip's random ties lead to", header=["delays ms", "runs", "share", "mean ms"], rows=rows
    )
