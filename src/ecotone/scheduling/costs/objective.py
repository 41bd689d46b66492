"""A few figures of a whole placement, comparable between policies: what a plan is worth before it is carried out.

The latency of a pair of workloads is the mean over their pods, weighted by the traffic between them; a pair that both
sides report counts once, with the larger figure.
"""

from __future__ import annotations

import numpy as np

from ecotone.model.state import ClusterState
from ecotone.scheduling.costs.peers import amount, traffic_of, whereabouts


def figures(state: ClusterState) -> dict[str, float | int | None]:
    """Pods waiting, nodes in use and their price, and the mean round trip of all measured traffic (None: unknown)."""
    used = np.flatnonzero(state.usage.pod_count)
    cost, total = _traffic(state)
    return {
        "pods_waiting": len(state.pending),
        "nodes_used": len(used),
        "price_per_hour": float(state.nodes.price[used].sum()),
        "traffic_bytes_per_second": total,
        "mean_latency_ms": cost / total if total else None,
    }


def _traffic(state: ClusterState) -> tuple[float, float]:
    """Sum over pairs of workloads of traffic x mean round trip, and the traffic that has both ends placed."""
    if not state.network.anything_known:
        return 0.0, 0.0
    flows: dict[frozenset[str], tuple[float, str, str, str]] = {}
    for key in sorted(state.workloads):
        listed = traffic_of(state, state.workloads[key]) or {}
        for peer in sorted(listed):
            other = peer if "/" in peer or "@" in peer else f"{key.namespace}/{peer}"
            pair, flow = frozenset((str(key), other)), amount(listed, peer)
            if flow > flows.get(pair, (0.0, "", "", ""))[0]:
                flows[pair] = (flow, key.namespace, key.name, peer)
    cost = total = 0.0
    for flow, namespace, name, peer in flows.values():
        here, counts = whereabouts(state, namespace, name)
        there, others = whereabouts(state, namespace, peer)
        if len(here) and len(there):
            shares = counts / counts.sum()
            sums = state.network.weighted(there, others / others.sum())
            cost += flow * float((sums[here] * shares).sum())
            total += flow
    return cost, total
