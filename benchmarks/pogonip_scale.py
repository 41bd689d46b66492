"""Pogonip far beyond the paper: exact to 500 nodes and 50 applications, heuristic to 5,000 nodes and 1,000 applications.

    python -m benchmarks.pogonip_scale [--heuristic | --exact] [--limit SECONDS] [--seeds 0,1] [--families 1,2,arbitrary]

Exact runs end proven or at the limit (wall clock), then with what was reached, what was proven, and the gap of every
objective. Families: the paper's application in 1, 2 or 3 sizes, three arbitrary classes, all different. On a busy machine the
limit leaves little CPU time: compare the CPU seconds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic, perf_counter, process_time

from ecotone.experiments.pogonip.instances import edge_cluster, taxi_cluster
from ecotone.placement.exact.milp import Stage
from ecotone.placement.exact.pogonip_opt import pogonip_opt
from ecotone.placement.heuristic.improved_greedy import improved_greedy
from ecotone.placement.heuristic.pogonip import pogonip
from ecotone.placement.problem.checker import violations
from ecotone.placement.problem.instance import Instance
from ecotone.placement.problem.solution import figures


def heuristic() -> None:
    instance = edge_cluster(nodes=5000, applications=1000, classes=3, bound_ms=400.0)
    instance.free, instance.control_distance, instance.is_edge  # noqa: B018 - in memory, like the distances
    print("1,000 applications (5,000 pods) on 5,000 edge nodes, distances in memory")
    for name, solve in (
        ("pogonip", pogonip),
        ("improved greedy, one order", lambda i: improved_greedy(i, portfolio=False)),
        ("improved greedy, best of four", improved_greedy),
    ):
        begin, cpu = perf_counter(), process_time()
        placement = solve(instance)
        taken, used = perf_counter() - begin, process_time() - cpu
        assert violations(instance, placement) == []
        print(f"  {name:30} {taken:6.2f} s ({used:.2f} s CPU), {figures(instance, placement).apps_placed} placed")


FAMILIES: dict[str, Callable[[int], Instance]] = {
    "1": lambda seed: taxi_cluster(nodes=500, applications=50, sizes=1, seed=seed),
    "2": lambda seed: taxi_cluster(nodes=500, applications=50, sizes=2, seed=seed),
    "3": lambda seed: taxi_cluster(nodes=500, applications=50, sizes=3, seed=seed),
    "arbitrary": lambda seed: edge_cluster(nodes=500, applications=50, classes=3, seed=seed),
    "different": lambda seed: edge_cluster(nodes=500, applications=50, classes=None, seed=seed),
}
NAMES = {
    "1": "50 taxi applications",
    "2": "50 taxi applications of 2 sizes",
    "3": "50 taxi applications of 3 sizes",
    "arbitrary": "50 applications of 3 arbitrary classes",
    "different": "50 applications, all different",
}


def exact(family: str, seed: int, limit: float) -> None:
    instance = FAMILIES[family](seed)
    begin, cpu = perf_counter(), process_time()
    print(f"500 nodes, {NAMES[family]}, seed {seed}", flush=True)

    def settled(stage: Stage) -> None:
        print(f"  after {process_time() - cpu:5.1f} s CPU: {stage.name}", flush=True)

    answer = pogonip_opt(instance, time_limit=limit, clock=monotonic, report=settled)
    taken, used = perf_counter() - begin, process_time() - cpu
    assert violations(instance, answer.placement) == []
    print(f"  {taken:.1f} s ({used:.1f} s CPU), {'proven' if answer.proven else 'stopped'}, by {answer.source}")
    for stage in answer.stages:
        gap = "" if stage.status == "optimal" else f", bound {stage.bound:g}, gap {stage.gap or 0.0:.1%}"
        print(
            f"  {stage.name:26} {stage.value:8g} {'proven' if stage.status == 'optimal' else 'open'}{gap}", flush=True
        )


def option(name: str, default: str) -> str:
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else default


def main() -> None:
    limit = float(option("--limit", "100"))
    if "--exact" not in sys.argv:
        heuristic()
    if "--heuristic" not in sys.argv:
        for family in option("--families", ",".join(FAMILIES)).split(","):
            for seed in option("--seeds", "0").split(","):
                exact(family, int(seed), limit)


if __name__ == "__main__":
    main()
