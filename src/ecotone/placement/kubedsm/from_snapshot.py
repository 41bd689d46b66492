"""From a snapshot to KubeDSM's cluster state.

A node of tier `edge` or `fog` is an edge node, every other one is the cloud. A service is promised what the configuration
says of it, else what its own annotation says (a share, or milliseconds by way of the tiers' latencies), else the default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ecotone.model.objects import Pod, PodKind, Reservation
from ecotone.model.snapshot import Snapshot
from ecotone.placement.kubedsm.cluster import Cluster, Node, Service
from ecotone.placement.kubedsm.configuration import Configuration
from ecotone.placement.problem.population import Population, population

EDGE_TIERS = frozenset({"edge", "fog"})


@dataclass(frozen=True, slots=True)
class Reading:
    cluster: Cluster
    population: Population


def read(
    snapshot: Snapshot,
    waiting: Sequence[Pod],
    chosen: Configuration,
    *,
    stays: Callable[[Pod], bool] = lambda _: False,
    reservations: Iterable[Reservation] | None = None,
) -> Reading:
    found = population(snapshot, waiting, stays=stays, reservations=reservations)
    services = [
        Service(str(kind.workload), tuple(size), promised(snapshot, kind, chosen))
        for kind, size in zip(found.kinds, found.size.tolist(), strict=True)
    ]
    nodes = [
        Node(node.name, tuple(capacity), edge=node.tier in EDGE_TIERS)
        for node, capacity in zip(snapshot.nodes.nodes, found.capacity.tolist(), strict=True)
    ]
    cluster = Cluster.of(
        services,
        nodes,
        found.placed,
        waiting=[len(pods) for pods in found.waiting],
        fixed=found.fixed,
        allowed=found.allowed,
    )
    return Reading(cluster, found)


def promised(snapshot: Snapshot, kind: PodKind, chosen: Configuration) -> float:
    key = kind.workload
    shares = chosen.edge_shares or {}
    for name in (str(key), key.name):
        if name in shares:
            return shares[name]
    workload = snapshot.workloads.get(key)
    if not chosen.own_shares or workload is None:
        return chosen.edge_share
    if workload.edge_share is not None:
        return workload.edge_share
    if workload.target_latency_ms is None:
        return chosen.edge_share
    group = (key.namespace, kind.app_group)
    tiers = next((each.tier_latency_ms for each in snapshot.app_groups if (each.namespace, each.name) == group), {})
    edge_ms, cloud_ms = tiers.get("edge", chosen.edge_ms), tiers.get("cloud", chosen.cloud_ms)
    if cloud_ms <= edge_ms:
        return chosen.edge_share
    return min(1.0, max(0.0, (cloud_ms - workload.target_latency_ms) / (cloud_ms - edge_ms)))
