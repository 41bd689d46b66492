"""Random small clusters, and answers found by trying every pod everywhere."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

from ecotone.placement.kubedsm.cluster import Cluster, Node, Service
from ecotone.placement.kubedsm.fragmentation import Fragmentation

_SHARES = (0.0, 0.3, 0.5, 1.0)


@st.composite
def clusters(draw: st.DrawFn, *, most_waiting: int = 5) -> Cluster:
    """Never over-committed: pods are put one by one where they fit, and dropped where they do not."""
    small = st.integers(1, 3)
    services = [
        Service(f"s{i}", (draw(small), draw(small)), draw(st.sampled_from(_SHARES))) for i in range(draw(small))
    ]
    edge = [Node(f"edge-{i}", (draw(st.integers(1, 6)), draw(st.integers(1, 6)))) for i in range(draw(small))]
    cloud = [Node(f"cloud-{i}", (draw(st.integers(4, 30)), 30), edge=False) for i in range(draw(st.integers(1, 2)))]
    waiting = [0] * len(services)
    for _ in range(draw(st.integers(0, most_waiting))):
        waiting[draw(st.integers(0, len(services) - 1))] += 1
    made = Cluster.of(services, [*edge, *cloud], waiting=waiting)
    placed = made.placed.copy()
    for _ in range(draw(st.integers(0, 10))):
        service = draw(st.integers(0, len(services) - 1))
        node = draw(st.integers(0, len(made.nodes) - 1))
        if Cluster.of(services, made.nodes, placed).fits(service, node):
            placed[service, node] += 1
    fixed = np.minimum(placed, [[draw(st.integers(0, 1)) * draw(st.integers(0, 1)) for _ in row] for row in placed])
    return Cluster.of(services, made.nodes, placed, waiting=waiting, fixed=fixed)


def best_packing(cluster: Cluster, wanted: list[int], fragmentation: Fragmentation) -> tuple[int, float]:
    """Most pods on the edge, then least fragmentation, over every target (or none) for every single pod."""
    pods = [service for service, count in enumerate(wanted) for _ in range(count)]
    edge = cluster.edge.tolist()
    best = (0, np.inf)
    for targets in product([None, *edge], repeat=len(pods)):
        used = cluster.used.copy()
        for service, target in zip(pods, targets, strict=True):
            if target is not None:
                used[target] += cluster.size[service]
        if (used[edge] <= cluster.capacity[edge] + 1e-9).all():
            value = float(fragmentation(used[edge], cluster.capacity[edge]).sum())
            count = sum(target is not None for target in targets)
            best = min(best, (-count, value)) if best[1] < np.inf else (-count, value)
    return -best[0], best[1]
