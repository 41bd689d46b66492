"""Conditions that tests wait for."""

from __future__ import annotations

from control_plane.cluster import Cluster
from control_plane.processes import Child, wait_until


def placement(cluster: Cluster, namespace: str = "default") -> dict[str, str]:
    """Pod name -> node, for those that have one."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in cluster.pods(namespace)
        if pod["spec"].get("nodeName")
    }


def wait_bound(
    cluster: Cluster,
    count: int,
    *,
    timeout: float = 30,
    child: Child | None = None,
    prefix: str = "",
    promise: str = "",
) -> dict[str, str]:
    def done() -> bool:
        return sum(name.startswith(prefix) for name in placement(cluster)) >= count

    wait_until(done, timeout=timeout, what=f"{count} bound pods", child=child, promise=promise, every=0.05)
    return placement(cluster)


def condition(cluster: Cluster, name: str, namespace: str = "default") -> str:
    """Why the pod is not scheduled, as its condition says."""
    pod = cluster.call("GET", f"/api/v1/namespaces/{namespace}/pods/{name}")
    for one in pod["status"].get("conditions", []):
        if one["type"] == "PodScheduled" and one["status"] == "False":
            return str(one["message"])
    return ""


def notes(cluster: Cluster, reason: str, name: str = "") -> list[str]:
    """What events say."""
    found = cluster.list("/apis/events.k8s.io/v1/namespaces/default/events")
    return [
        one["note"] for one in found if one["reason"] == reason and (not name or one["regarding"].get("name") == name)
    ]


def wait_nodes(cluster: Cluster) -> None:
    """Where there are kubelets, a node that is new takes no pods until it has been seen alive."""

    def untainted() -> bool:
        return not any(one["spec"].get("taints") for one in cluster.list("/api/v1/nodes"))

    wait_until(untainted, timeout=60, what="nodes that take pods")


def clear(cluster: Cluster) -> None:
    """No pods, no nodes."""
    cluster.call("DELETE", "/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
    cluster.call("DELETE", "/api/v1/nodes")
