"""A scene for the closed loop: an application far from the peer it talks to, and what can be seen of it."""

from __future__ import annotations

import json
from typing import Any

from control_plane.cluster import Cluster
from control_plane.objects import deployment, node
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone
from control_plane.waiting import clear, placement

GROUPS = "/apis/ecotone.dev/v1alpha1/namespaces/default/appgroups"
RESERVATIONS = "/apis/ecotone.dev/v1alpha1/namespaces/default/reservations"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"


def known(cluster: Cluster) -> bool:
    try:
        cluster.call("GET", GROUPS)
        cluster.call("GET", RESERVATIONS)
    except Exception:
        return False
    return True


def scene(cluster: Cluster, *, front: int, **group: Any) -> None:
    """``front`` runs far from the ``db`` it talks to; then near becomes schedulable and the group is declared."""
    rtt = {"near": {"far": 80.0}, "far": {"near": 80.0}}
    cluster.create(
        *(node(name, annotations={"ecotone.dev/latencies": json.dumps(rtt[name])}) for name in ("near", "far"))
    )
    cluster.call("PATCH", "/api/v1/nodes/near", {"spec": {"unschedulable": True}}, content_type=MERGE)
    labels = {"app-group": "shop"}
    talk = {"ecotone.dev/requests": json.dumps({"db": 100}), "ecotone.dev/traffic": json.dumps({"db": 50_000})}
    cluster.call("POST", DEPLOYMENTS, deployment("front", replicas=front, annotations=talk, labels=labels))
    wait_until(lambda: where(cluster, "front") == ["far"] * front, timeout=30, what="front far away")
    cluster.call("PATCH", "/api/v1/nodes/near", {"spec": {"unschedulable": None}}, content_type=MERGE)
    talk = {"ecotone.dev/requests": json.dumps({"front": 100}), "ecotone.dev/traffic": json.dumps({"front": 50_000})}
    here = {"kubernetes.io/hostname": "near"}
    cluster.call("POST", DEPLOYMENTS, deployment("db", annotations=talk, labels=labels, nodeSelector=here))
    wait_until(lambda: where(cluster, "db") == ["near"], timeout=30, what="db near")
    wait_until(lambda: ready(cluster, "front") == front and ready(cluster, "db") == 1, timeout=30, what="ready pods")
    cluster.call("POST", GROUPS, app_group(**group))


def app_group(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "ecotone.dev/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": "shop"},
        "spec": {"name": "shop", "runPeriod": 1, "window": "1s", "descheduler": {"coolDownSeconds": 0}, **spec},
    }


def where(cluster: Cluster, workload: str) -> list[str]:
    return sorted(node for name, node in placement(cluster).items() if name.startswith(f"{workload}-"))


def ready(cluster: Cluster, workload: str) -> int:
    return sum(
        any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
        and "deletionTimestamp" not in pod["metadata"]
        for pod in cluster.pods("default")
        if pod["metadata"]["name"].startswith(f"{workload}-")
    )


def status(cluster: Cluster) -> dict[str, Any]:
    found: dict[str, Any] = cluster.call("GET", f"{GROUPS}/shop").get("status", {})
    return found


def moves(cluster: Cluster, outcome: str) -> list[dict[str, Any]]:
    return [one for one in status(cluster).get("moves", []) if one["outcome"] == outcome]


def install(cluster: Cluster) -> None:
    """The custom resources, as `ecotone manifests crds` prints them."""
    code, printed, problems = run_ecotone(cluster, "manifests", "crds", "-o", "json")
    assert code == 0, problems
    for one in json.loads(printed)["items"]:
        cluster.call("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", one)
    wait_until(lambda: known(cluster), timeout=20, what="custom resources")


def tidy(cluster: Cluster) -> None:
    for path in (GROUPS, RESERVATIONS, DEPLOYMENTS, "/apis/policy/v1/namespaces/default/poddisruptionbudgets"):
        cluster.call("DELETE", path)
    wait_until(lambda: not cluster.list(DEPLOYMENTS), timeout=20, what="no deployments")
    wait_until(lambda: not cluster.pods("default"), timeout=30, what="no pods")
    clear(cluster)
