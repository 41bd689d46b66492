"""Pogonip, table II: how long the policies think, and what happens far beyond the paper's eight applications.

The paper's header says "time per instance", its text "335 ms to place 8 instances"; both readings are printed.
Absolute times are of different machines and different things (the paper sums scheduling cycles of a live scheduler),
so what carries over is the order of the policies and the growth from 8 to 10 applications. The exact models run on
one solver side by side: the paper's formulation and the class-aggregated one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import monotonic, perf_counter

from ecotone.experiments.campaign.registry import Cell, Options, Result, Table
from ecotone.experiments.pogonip.instances import edge_cluster, taxi_cluster
from ecotone.experiments.pogonip.kubernetes import scheduled
from ecotone.placement.exact.paper_model import cloud_problem, edge_problem
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.heuristic.pogonip import pogonip
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import Figures, figures
from ecotone.placement.problem.taxi import scenario_2

PUBLISHED_MS = {
    "first-fit": (21.6, 30.2),
    "round-robin": (26.0, 32.8),
    "kube-default": (38.4, 43.9),
    "pogonip": (131.0, 152.7),
    "pogonip-opt": (334.8, 576.0),
}
HEURISTIC_SIZES = ((50, 10), (100, 20), (500, 100), (1000, 200), (2000, 400), (5000, 1000))
EXACT_SIZES = ((50, 20), (100, 20), (200, 25), (500, 50))
EXACT_SECONDS = 60.0
NOTES = (
    "published: live scheduling cycles summed (CPLEX 12.8 for OPT) on another machine; ours: the whole placement, in memory.",
    "the paper's formulation names every pod and pair of nodes; solved on the same solver as ours, both problems.",
    "exact: 'proven' lists the objectives that are, where not all of them are within the time limit; the gap is the "
    "largest over the objectives.",
)


def run(options: Options) -> Result:
    repeats = options.runs or 5
    table_two, data = _table_two(repeats)
    heuristic = [_heuristic(nodes, apps) for nodes, apps in (HEURISTIC_SIZES[:3] if options.quick else HEURISTIC_SIZES)]
    limit = 5.0 if options.quick else EXACT_SECONDS
    sizes = EXACT_SIZES[:1] if options.quick else EXACT_SIZES
    exact = [
        _exact(f"taxi, {kinds} sizes", taxi_cluster(nodes=nodes, applications=apps, sizes=kinds), limit, kinds=kinds)
        for kinds in (1, 3)
        for nodes, apps in sizes
    ]
    if not options.quick:
        exact.append(_exact("all different", edge_cluster(nodes=500, applications=50, classes=None), limit))
    tables = [table_two, _heuristics_table(heuristic), _exact_table(exact)]
    plots = []
    if options.report is not None:
        from ecotone.experiments.pogonip.plots import Timed, scaling_curves

        curves = {
            "pogonip": [Timed(each.nodes, each.plain_seconds) for each in heuristic],
            "improved greedy": [Timed(each.nodes, each.improved_seconds) for each in heuristic],
            **{
                f"pogonip-opt, {name}": [
                    Timed(each.nodes, each.seconds, ended=each.proven) for each in exact if each.kinds == kinds
                ]
                for name, kinds in (("one class", 1), ("three classes", 3))
            },
        }
        plots.append(scaling_curves(curves, options.report / "pogonip-time.svg"))
    return Result(name="pogonip-time", tables=tables, notes=NOTES, figures=data, plots=plots)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The median of a few runs."""
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return median(times)


def papers_models(instance: Instance) -> float:
    """Both of the paper's problems, one after the other; the value of its objective G."""
    edge = edge_problem(instance)
    assert edge.hosts is not None and edge.stage.value is not None
    forwarded = [(a, i) for a, row in enumerate(edge.hosts) for i, host in enumerate(row) if host < 0]
    cloud_problem(instance, forwarded)
    return edge.stage.value


def _table_two(repeats: int) -> tuple[Table, dict[str, list[float]]]:
    policies: dict[str, Callable[[Instance], object]] = {
        **{name: partial(scheduled, policy=name) for name in ("first-fit", "round-robin", "kube-default")},
        "pogonip": pogonip,
        "improved greedy": improved_greedy,
        "pogonip-opt": lambda instance: pogonip_opt(instance, time_limit=None),
        "paper's formulation": papers_models,
    }
    small, large = scenario_2(8), scenario_2(10)
    rows: list[list[Cell]] = []
    data: dict[str, list[float]] = {}
    for name, work in policies.items():
        few = 1 if name == "paper's formulation" else repeats
        eight = 1000 * seconds(partial(work, small), few)
        ten = 1000 * seconds(partial(work, large), few)
        told = PUBLISHED_MS.get(name)
        data[name] = [eight, ten]
        rows.append(
            [
                name,
                round(eight, 2),
                round(eight / 8, 3),
                told[0] if told else None,
                round(ten, 2),
                told[1] if told else None,
                f"{ten / eight - 1:+.0%}",
                f"{told[1] / told[0] - 1:+.0%}" if told else None,
            ]
        )
    header = ["policy", "8 apps ms", "per app ms", "published", "10 apps ms", "published", "growth", "published growth"]
    return Table(title="Resolution time (table II)", header=header, rows=rows), data


@dataclass(frozen=True, slots=True)
class HeuristicTime:
    """One large cluster under both heuristics: seconds taken and applications placed."""

    nodes: int
    applications: int
    pods: int
    plain_seconds: float
    improved_seconds: float
    plain_placed: int
    improved_placed: int


def _heuristic(nodes: int, applications: int) -> HeuristicTime:
    instance = edge_cluster(nodes=nodes, applications=applications, classes=3, bound_ms=5.6 * nodes**0.5)
    instance.free  # noqa: B018 - the columns are part of what is in memory
    begin = perf_counter()
    plain = pogonip(instance)
    middle = perf_counter()
    improved = improved_greedy(instance, portfolio=False)
    end = perf_counter()
    return HeuristicTime(
        nodes=nodes,
        applications=applications,
        pods=sum(len(each.components) for each in instance.applications),
        plain_seconds=middle - begin,
        improved_seconds=end - middle,
        plain_placed=figures(instance, plain).apps_placed,
        improved_placed=figures(instance, improved).apps_placed,
    )


def _heuristics_table(found: Sequence[HeuristicTime]) -> Table:
    header = ["edge nodes", "applications", "pods", "pogonip s", "improved greedy s", "placed", "placed (improved)"]
    rows: list[list[Cell]] = [
        [each.nodes, each.applications, each.pods, round(each.plain_seconds, 4), round(each.improved_seconds, 4),
         each.plain_placed, each.improved_placed]
        for each in found
    ]  # fmt: skip
    return Table(title="Heuristics, distances in memory", header=header, rows=rows)


@dataclass(frozen=True, slots=True)
class ExactTime:
    """One cluster under the exact policy. `kinds` is the number of sizes of application, None if all differ."""

    which: str
    kinds: int | None
    nodes: int
    applications: int
    seconds: float
    result: Figures
    proven: bool
    proven_stages: tuple[str, ...]
    gap: float | None


def _exact(which: str, instance: Instance, limit: float, *, kinds: int | None = None) -> ExactTime:
    begin = perf_counter()
    answer = pogonip_opt(instance, time_limit=limit, clock=monotonic)
    taken = perf_counter() - begin
    return ExactTime(
        which=which,
        kinds=kinds,
        nodes=len(instance.edge),
        applications=len(instance.applications),
        seconds=taken,
        result=figures(instance, answer.placement),
        proven=answer.proven,
        proven_stages=tuple(stage.name for stage in answer.stages if stage.status == "optimal"),
        gap=max((stage.gap for stage in answer.stages if stage.gap is not None), default=None),
    )


def _exact_table(found: Sequence[ExactTime]) -> Table:
    header = ["edge nodes", "applications", "which", "seconds", "placed", "forwarded", "edge nodes used", "delay ms", "proven",
              "gap"]  # fmt: skip
    rows: list[list[Cell]] = [
        [each.nodes, each.applications, each.which, round(each.seconds, 2), each.result.apps_placed,
         each.result.forwarded_to_cloud, each.result.edge_nodes_used, round(each.result.latency_total_ms, 1),
         "yes" if each.proven else ", ".join(each.proven_stages), None if each.gap is None else f"{each.gap:.1%}"]
        for each in found
    ]  # fmt: skip
    return Table(title="Exact, to proven optimality or the time limit", header=header, rows=rows)
