"""Random applications as traffic sees them, for tests of what placements cost."""

from __future__ import annotations

import itertools
from random import Random

import numpy as np

from ecotone.model.objects import PodKind, WorkloadKey
from ecotone.scheduling.response.call_graph import (
    SAME_NODE,
    SAME_ZONE,
    UNIFORM,
    CallGraph,
    Calls,
    Deadline,
    callers_first,
)


def application(luck: Random, *, workloads: int, nodes: int, tree: bool, uniform: bool, use: float) -> CallGraph:
    """Calls from lower to higher numbers, or in all directions; users anywhere."""
    points = np.array([[luck.uniform(0, 80), luck.uniform(0, 80)] for _ in range(nodes)])
    rtt = np.linalg.norm(points[:, np.newaxis] - points, axis=2).round(3)
    pairs = [(luck.randrange(callee), callee) for callee in range(1, workloads)]
    if not tree:
        every = list(itertools.permutations(range(workloads), 2))
        pairs = sorted({*pairs, *luck.sample(every, min(3, len(every)))})
    calls = tuple(Calls(caller, callee, luck.choice((1.0, 5.0, 20.0))) for caller, callee in pairs)
    users = np.zeros((workloads, nodes))
    for _ in range(luck.randint(1, 3)):
        users[0 if tree else luck.randrange(workloads), luck.randrange(nodes)] += luck.choice((2.0, 10.0))
    counts = np.zeros((workloads, nodes), dtype=np.int64)
    for workload in range(workloads):
        for _ in range(luck.randint(1, 3)):
            counts[workload, luck.randrange(nodes)] += 1
    order, cyclic = callers_first(workloads, calls)
    late = [Deadline(*luck.choice(pairs), np.maximum(rtt - 20.0, 0.0) * 3)] if pairs and not tree else []
    names = tuple(("default", f"w{number}") for number in range(workloads))
    balances = (UNIFORM,) if uniform else (UNIFORM, SAME_NODE, SAME_ZONE)
    return CallGraph(
        names=names,
        kinds=tuple(PodKind(*name[:1], WorkloadKey(*name)) for name in names),
        rows=np.arange(nodes),
        counts=counts,
        calls=calls,
        users=users,
        balance=tuple(luck.choice(balances) for _ in names),
        zones=np.array([luck.randrange(2) for _ in range(nodes)]),
        rtt=rtt,
        use=np.array([use * luck.random() for _ in names]),
        other=np.array([luck.uniform(0, 1500) for _ in range(nodes)]),
        cores=np.array([luck.choice((0.5, 1.0, 2.0, 8.0)) for _ in range(nodes)]),
        rate=float(users.sum()),
        order=order,
        cyclic=cyclic,
        deadlines=tuple(late),
    )
