"""Pogonip far beyond the paper: exact to 500 nodes and 50 applications, heuristic to 5,000 nodes and 1,000 applications.

    python -m benchmarks.pogonip_scale [--heuristic | --exact] [--limit SECONDS]

Exact runs end proven or at the limit, then with what was reached, what was proven, and the gap of every objective.
"""

from __future__ import annotations

import sys
from time import monotonic, perf_counter, process_time

from ecotone.experiments.pogonip_instances import edge_cluster, taxi_cluster
from ecotone.placement.checker import violations
from ecotone.placement.improved_greedy import improved_greedy
from ecotone.placement.instance import Instance
from ecotone.placement.pogonip import pogonip
from ecotone.placement.pogonip_opt import pogonip_opt
from ecotone.placement.solution import figures


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


def exact(name: str, instance: Instance, limit: float) -> None:
    begin, cpu = perf_counter(), process_time()
    answer = pogonip_opt(instance, time_limit=limit, clock=monotonic)
    taken, used = perf_counter() - begin, process_time() - cpu
    assert violations(instance, answer.placement) == []
    print(f"{name}: {taken:.1f} s ({used:.1f} s CPU), {'proven' if answer.proven else 'stopped'}, by {answer.source}")
    for stage in answer.stages:
        gap = "" if stage.status == "optimal" else f", bound {stage.bound:g}, gap {stage.gap or 0.0:.1%}"
        print(f"  {stage.name:26} {stage.value:8g} {'proven' if stage.status == 'optimal' else 'open'}{gap}")


def main() -> None:
    limit = float(sys.argv[sys.argv.index("--limit") + 1]) if "--limit" in sys.argv else 55.0
    if "--exact" not in sys.argv:
        heuristic()
    if "--heuristic" not in sys.argv:
        exact("500 nodes, 50 taxi applications", taxi_cluster(nodes=500, applications=50, sizes=1), limit)
        exact("500 nodes, 50 taxi applications of 2 sizes", taxi_cluster(nodes=500, applications=50, sizes=2), limit)
        exact("500 nodes, 50 taxi applications of 3 sizes", taxi_cluster(nodes=500, applications=50, sizes=3), limit)
        arbitrary = edge_cluster(nodes=500, applications=50, classes=3)
        exact("500 nodes, 50 applications of 3 arbitrary classes", arbitrary, limit)
        distinct = edge_cluster(nodes=500, applications=50, classes=None)
        exact("500 nodes, 50 applications, all different", distinct, limit)


if __name__ == "__main__":
    main()
