"""What was measured of a pod's workload and of the nodes, as `explain` shows it beside the decision.

Ages are seen from the snapshot's own time; a value that is too old to be used is shown as such, not hidden.
"""

from __future__ import annotations

from typing import Any

from ecotone.model.columns.network import is_stale
from ecotone.model.objects import USERS, Measured, Node, Pod, Workload
from ecotone.model.quantity import show_bytes, show_cpu
from ecotone.model.snapshot import Snapshot
from ecotone.model.workloads import peer_name

_MOST_PEERS = 12
_MOST_NODES = 20


def measured(snapshot: Snapshot, pod: Pod) -> dict[str, Any]:
    """For `-o json`: figures in the units of the annotations (millicores, bytes, ms, bytes/s, requests/s)."""
    workload = snapshot.workloads.get(pod.kind.workload)
    peers = peer_nodes(snapshot, workload)
    found: dict[str, Any] = {
        "nodes": {
            node.name: {**_node(snapshot, node), "round_trips": _round_trips(snapshot, node, peers)}
            for node in snapshot.nodes.nodes
            if _any(node)
        }
    }
    if workload is not None:
        found["workload"] = {
            "name": f"{workload.key.namespace}/{workload.key.name}",
            "cpu_millicores": _value(workload.cpu_usage),
            "memory_bytes": _value(workload.memory_usage),
            "bytes_per_second": dict(workload.traffic or {}),
            "requests_per_second": dict(workload.requests or {}),
            "calls_per_second": dict(workload.calls or {}),
            **_age(snapshot, workload.measured_at),
        }
    return found


def peer_nodes(snapshot: Snapshot, workload: Workload | None) -> list[str]:
    """Where the workload's peers and users are, as far as anybody counts them."""
    if workload is None:
        return []
    found: set[str] = set()
    for peer in {*(workload.traffic or {}), *(workload.requests or {}), *(workload.affinity or {})}:
        if peer.startswith(USERS):
            found.add(peer.removeprefix(USERS))
            continue
        for kind in snapshot.named.get(peer_name(workload.key.namespace, peer), ()):
            found.update(snapshot.nodes.names[row] for row in snapshot.usage.where(kind)[0].tolist())
    return sorted(found & snapshot.nodes.index.keys())[:_MOST_NODES]


def _round_trips(snapshot: Snapshot, node: Node, peers: list[str]) -> dict[str, dict[str, Any]]:
    """To the nodes of the peers: milliseconds, where they are known from, and how far they may be off."""
    index = snapshot.nodes.index
    ways = {peer: snapshot.network.way(index[node.name], index[peer]) for peer in peers}
    return {
        peer: {"ms": round(way.ms, 3), "source": way.source}
        | ({} if way.error_ms is None else {"error_ms": round(way.error_ms, 3)})
        for peer, way in ways.items()
    }


def shown_measurements(snapshot: Snapshot, pod: Pod) -> list[str]:
    """For people: one line per peer of the workload, nearest figures first by weight."""
    workload = snapshot.workloads.get(pod.kind.workload)
    if workload is None or not _says_anything(workload):
        return []
    age = _age(snapshot, workload.measured_at)
    when = "at an unknown time" if age["age_seconds"] is None else f"{age['age_seconds']:.0f} s ago"
    head = f"Measured {when}{' (too old to be used)' if age['stale'] else ''}: {workload.key.name}"
    uses = [
        text
        for text in (
            None if workload.cpu_usage is None else f"{show_cpu(workload.cpu_usage.value)} CPU",
            None if workload.memory_usage is None else f"{show_bytes(workload.memory_usage.value)} memory",
        )
        if text is not None
    ]
    lines = [head + (f" uses {', '.join(uses)} per pod" if uses else "")]
    traffic, requests = workload.traffic or {}, workload.requests or {}
    peers = sorted({*traffic, *requests}, key=lambda peer: (-traffic.get(peer, 0.0), -requests.get(peer, 0.0), peer))
    for peer in peers[:_MOST_PEERS]:
        parts = []
        if peer in traffic:
            parts.append(f"{traffic[peer]:.4g} bytes/s")
        if peer in requests:
            parts.append(f"{requests[peer]:.4g} requests/s")
        lines.append(f"  with {peer}: {', '.join(parts)}")
    if len(peers) > _MOST_PEERS:
        lines.append(f"  and {len(peers) - _MOST_PEERS} more peers")
    return lines


def _says_anything(workload: Workload) -> bool:
    return bool(workload.cpu_usage or workload.memory_usage or workload.traffic or workload.requests)


def _value(given: Measured | None) -> float | None:
    return None if given is None else given.value


def _any(node: Node) -> bool:
    known = (node.available_cpu, node.available_memory, node.coordinates)
    return bool(node.latencies) or any(each is not None for each in known)


def _node(snapshot: Snapshot, node: Node) -> dict[str, Any]:
    return {
        "available_cpu_millicores": node.available_cpu,
        "available_memory_bytes": node.available_memory,
        "latency_ms": dict(node.latencies or {}),
        "predicted_by_coordinates": node.coordinates is not None and not node.latencies,
        **_age(snapshot, node.measured_at),
    }


def _age(snapshot: Snapshot, at: float | None) -> dict[str, Any]:
    return {
        "age_seconds": None if at is None else round(max(0.0, snapshot.now - at), 3),
        "stale": is_stale(at, now=snapshot.now, max_age=snapshot.max_age),
    }
