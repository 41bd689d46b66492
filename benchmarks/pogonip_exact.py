"""The exact models side by side on one solver: the paper's formulation, and ours with its four objectives.

    python -m benchmarks.pogonip_exact [--rounds N]

CPU seconds of this process, the models taking turns, the median of the rounds. The paper's CPLEX needed 335 ms for eight
applications on its own machine; that figure is printed for orientation and enters no ratio.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median
from time import process_time

from ecotone.placement.exact.aggregated_model import AggregatedModel
from ecotone.placement.exact.paper_model import cloud_problem, edge_problem
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.taxi import scenario_2

CPLEX_MS = {8: 334.8, 10: 576.0}


def papers_edge(instance: Instance) -> float:
    value = edge_problem(instance).stage.value
    assert value is not None
    return value


def papers_both(instance: Instance) -> float:
    edge = edge_problem(instance)
    assert edge.hosts is not None and edge.stage.value is not None
    cloud_problem(instance, [(a, i) for a, row in enumerate(edge.hosts) for i, host in enumerate(row) if host < 0])
    return edge.stage.value


def aggregated_edge(instance: Instance) -> float:
    """The same objective, G = nodes + forwarded, on the class-aggregated model."""
    model = AggregatedModel(instance, admission=False)
    value = model.model.minimise(model.papers())[1].value
    assert value is not None
    return value


def ours(instance: Instance) -> float:
    """Everything `pogonip-opt` does: heuristics, four objectives, the cloud, the checker."""
    answer = pogonip_opt(instance, time_limit=None)
    assert answer.proven
    return sum(stage.value or 0.0 for stage in answer.stages[1:3])


MODELS: dict[str, Callable[[Instance], float]] = {
    "paper, edge problem": papers_edge,
    "aggregated, same objective": aggregated_edge,
    "paper, edge and cloud": papers_both,
    "pogonip-opt, complete": ours,
}


def measure(applications: int, rounds: int) -> dict[str, float]:
    instance = scenario_2(applications)
    times: dict[str, list[float]] = {name: [] for name in MODELS}
    for _ in range(rounds):
        values = set()
        for name, solve in MODELS.items():
            begin = process_time()
            values.add(solve(instance))
            times[name].append(process_time() - begin)
        assert len(values) == 1, f"the models disagree: {values}"
    return {name: median(each) for name, each in times.items()}


def main() -> None:
    rounds = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 3
    for applications in (8, 10):
        found = measure(applications, rounds)
        print(f"{applications} applications (the paper's CPLEX: {CPLEX_MS[applications]:g} ms)")
        for name, seconds in found.items():
            print(f"  {name:28} {1000 * seconds:9.1f} ms")
        same = found["paper, edge problem"] / found["aggregated, same objective"]
        whole = found["paper, edge and cloud"] / found["pogonip-opt, complete"]
        print(f"  ratio, edge problem alone    {same:9.1f}")
        print(f"  ratio, everything            {whole:9.1f}")


if __name__ == "__main__":
    main()
