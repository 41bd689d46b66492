"""Random small instances, and the optimum found by putting every single pod everywhere."""

from __future__ import annotations

from itertools import product

import numpy as np

from ecotone.placement.qos.problem import Problem


def random_small(seed: int) -> Problem:
    """At most seven pods of three services on three nodes, some running, some new; latencies of their own each."""
    draw = np.random.default_rng(seed)
    services, nodes = int(draw.integers(1, 4)), int(draw.integers(2, 4))
    size = draw.integers(1, 4, (services, 2)).astype(float)
    capacity = draw.integers(1, 7, (nodes, 2)).astype(float)
    capacity[-1] = 40.0
    latency = draw.choice([20.0, 50.0, 100.0, 300.0], (services, nodes))
    current = np.zeros((services, nodes), np.int64)
    for _ in range(int(draw.integers(0, 6))):
        service, node = int(draw.integers(services)), int(draw.integers(nodes))
        current[service, node] += 1
        if (current.T @ size > capacity).any():
            current[service, node] -= 1
    pods = current.sum(axis=1)
    for _ in range(7 - int(pods.sum())):
        pods[int(draw.integers(services))] += int(draw.integers(0, 2))
    near = np.arange(nodes) < nodes - 1
    return Problem.of(
        size=size,
        capacity=capacity,
        latency=latency,
        target=draw.choice([20.0, 50.0, 120.0, 300.0], services),
        weight=draw.choice([1.0, 2.0], services),
        pods=pods,
        current=current,
        fixed=np.minimum(current, draw.integers(0, 2, current.shape) * draw.integers(0, 2, current.shape)),
        near=near,
        mix=draw.choice([0.25, 0.5, 1.0], services),
        budget=None if draw.random() < 0.5 else int(draw.integers(0, 4)),
        move_cost=float(draw.choice([0.0, 0.0, 5.0])),
        broken_ms=float(draw.choice([0.0, 0.0, 30.0])),
    )


def best_of_all(problem: Problem) -> tuple[int, float, int, float]:
    """Unplaced, loss with hysteresis, moves, -fit: the least over all placements of single pods."""
    pods: list[tuple[int, int | None]] = []
    for service in range(problem.services):
        for node in range(problem.nodes):
            pods += [(service, node)] * int(problem.current[service, node])
        pods += [(service, None)] * int(problem.pods[service] - problem.current[service].sum())
    best: tuple[int, float, int, float] | None = None
    seen: set[bytes] = set()
    for places in product([None, *range(problem.nodes)], repeat=len(pods)):
        moves = sum(before is not None and after != before for (_, before), after in zip(pods, places, strict=True))
        x = np.zeros_like(problem.current)
        for (service, _), place in zip(pods, places, strict=True):
            if place is not None:
                x[service, place] += 1
        # Of the ways to one set of counts the one with fewest moves counts; they are compared all the same.
        key = x.tobytes() + bytes([moves])
        if key in seen or (problem.budget is not None and moves > problem.budget):
            continue
        seen.add(key)
        if (problem.used(x) > problem.capacity + 1e-9).any() or (x < problem.fixed).any():
            continue
        loss = round(problem.loss(x) + problem.move_cost * moves, 6)
        rank = (len(pods) - int(x.sum()), loss, moves, -round(problem.fit(x), 6))
        best = rank if best is None else min(best, rank)
    assert best is not None
    return best
