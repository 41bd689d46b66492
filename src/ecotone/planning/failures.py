"""What the failure of one node would take down: replicated workloads that stand on it alone."""

from __future__ import annotations

from ecotone.model.state import ClusterState


def single_points_of_failure(state: ClusterState) -> list[str]:
    """One sentence for each node that holds all of several replicas of a workload."""
    found: dict[str, list[str]] = {}
    for name in sorted(state.named):
        rows: dict[int, int] = {}
        for kind in state.named[name]:
            if kind.workload.kind != "DaemonSet":
                for row, count in zip(*(each.tolist() for each in state.usage.where(kind)), strict=True):
                    rows[row] = rows.get(row, 0) + count
        if len(rows) == 1 and sum(rows.values()) > 1:
            found.setdefault(state.nodes.names[next(iter(rows))], []).append("/".join(name))
    return [
        f"if node {node} fails, all replicas of {', '.join(workloads)} are gone"
        for node, workloads in sorted(found.items())
    ]
