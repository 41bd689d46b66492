"""The counts model of QoS targets at scale: proven where small, within a stated distance of the bound where large.

    python -m benchmarks.kubedsm_scale [20 200 500]

Named instances, as hard as they come: 60 % of the services are promised the edge for all their pods, together they ask for
half as much again as the edge has, one pod in ten is new and the others run wherever they fitted. What is compared is the loss
(milliseconds over target, summed over services) with the bound of the relaxed model. Solvers are given all the time that is
allowed and go on improving (moves, after the loss is proven; neighbourhoods) until it is over; of the small instance it is
told when the loss was proven.
"""

from __future__ import annotations

import resource
import sys
from time import monotonic, perf_counter, process_time
from typing import Any

import numpy as np

from ecotone.placement.qos.exact import exact
from ecotone.placement.qos.problem import Problem
from ecotone.placement.qos.rounding import relaxed
from ecotone.placement.qos.solve import heuristic

EDGE_MS, CLOUD_MS = 50.0, 300.0
# nodes -> services, pods, seconds allowed, distance from the bound allowed (0: proven)
GOALS = {20: (20, 276, 3.0, 0.0), 200: (100, 3600, 20.0, 0.10), 500: (200, 9000, 60.0, 0.15)}


def instance(nodes: int, services: int, pods: int, *, seed: int = 1) -> Problem:
    """One cloud node takes everything; the others share 2/3 of the demand in three sizes."""
    draw = np.random.default_rng(seed)
    size = draw.choice([1.0, 2.0, 3.0, 4.0], (services, 2), p=[0.4, 0.3, 0.2, 0.1])
    counts = 1 + draw.multinomial(pods - services, np.full(services, 1.0 / services))
    demand = counts @ size
    shape = draw.choice([1.0, 1.5, 2.0], (nodes - 1, 1)) * draw.uniform(0.8, 1.2, (nodes - 1, 2))
    edge = np.maximum(4.0, np.round(shape / shape.sum(axis=0) * demand / 1.5))
    capacity = np.vstack([edge, demand * 2])
    latency = np.full((services, nodes), EDGE_MS)
    latency[:, -1] = CLOUD_MS
    current = _scattered(draw, size, capacity, counts - np.round(counts * 0.1).astype(np.int64))
    target = np.where(draw.random(services) < 0.6, EDGE_MS, np.round(draw.uniform(EDGE_MS, CLOUD_MS, services)))
    near = np.arange(nodes) < nodes - 1
    return Problem.of(
        size=size, capacity=capacity, latency=latency, target=target, pods=counts, current=current, near=near
    )


def _scattered(draw: np.random.Generator, size: Any, capacity: Any, counts: Any) -> Any:
    current = np.zeros((len(size), len(capacity)), np.int64)
    free = capacity.copy()
    for service in draw.permutation(np.repeat(np.arange(len(size)), counts)).tolist():
        open_nodes = np.flatnonzero((size[service] <= free).all(axis=1))
        node = int(draw.choice(open_nodes))
        current[service, node] += 1
        free[node] -= size[service]
    return current


def run(nodes: int) -> dict[str, Any]:
    services, pods, seconds, _ = GOALS[nodes]
    problem = instance(nodes, services, pods)
    ended: dict[str, float] = {}
    begin, cpu = perf_counter(), process_time()
    if nodes <= 20:
        found = exact(
            problem,
            time_limit=seconds,
            clock=monotonic,
            fit=False,
            report=lambda stage: ended.update({f"{stage.name}_{stage.status}_seconds": perf_counter() - begin}),
        )
        assert found is not None
    else:
        found = heuristic(problem, time_limit=seconds - 2.0, clock=monotonic)
    taken, used = perf_counter() - begin, process_time() - cpu
    assert problem.violations(found.x) == []
    assert found.unplaced == 0
    bound = found.bound if nodes > 20 else relaxed(problem)[0]
    return {
        "instance": f"{nodes} nodes, {services} services, {pods} pods",
        "seconds": round(taken, 2),
        **{name: round(at, 2) for name, at in ended.items()},
        "cpu_seconds": round(used, 2),
        "loss_ms": round(found.loss, 2),
        "bound_ms": round(bound, 2),
        "proven": found.proven,
        "over_bound": round(found.loss / max(bound, 1e-9) - 1.0, 4),
        "moves": found.moves,
        "stays_loss_ms": round(problem.loss(problem.current), 2),
        "peak_memory_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def results(which: tuple[int, ...] = tuple(GOALS)) -> list[dict[str, Any]]:
    found = [run(nodes) for nodes in which]
    for row in found:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    return found


if __name__ == "__main__":
    results(tuple(int(each) for each in sys.argv[1:]) or tuple(GOALS))
