"""A small shop on a real control plane: two namespaces, three nodes, replicas, and an input proxy on two nodes.

Pods name their node in the template, so nobody has to schedule them; kwok makes them run.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import yaml

from control_plane.cluster import Cluster, collection
from control_plane.objects import deployment, node
from control_plane.processes import wait_until
from control_plane.programs import run_ecotone
from ecotone.manifests import keys

NODES = ("edge-1", "edge-2", "cloud-1.example")


def install_crds(cluster: Cluster) -> None:
    code, printed, problems = run_ecotone(cluster, "manifests", "crds")
    assert code == 0, problems
    for one in yaml.safe_load_all(printed):
        if one["kind"] == "CustomResourceDefinition":
            cluster.call("POST", collection(one), one)


def install(cluster: Cluster) -> None:
    """CRDs, nodes, namespaces, workloads; returns when all pods are ready."""
    install_crds(cluster)
    for name in NODES:
        cluster.create(node(name, cpu="4", memory="8Gi"))
    for namespace in ("shop", "bank"):
        cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        wait_until(partial(has_account, cluster, namespace), timeout=120, what=f"account of {namespace}")
    cluster.create(
        *grouped("web", namespace="shop", where="edge-1", replicas=2),
        *grouped("db", namespace="shop", where="cloud-1.example"),
        *grouped("ledger", namespace="bank", where="cloud-1.example", group="bank"),
        entrance(),
    )
    wait_until(
        lambda: len(ready_pods(cluster)) == 6 and len(ready_pods(cluster, "bank")) == 1, timeout=180, what="ready pods"
    )


def has_account(cluster: Cluster, namespace: str) -> bool:
    return any(
        each["metadata"]["name"] == "default"
        for each in cluster.list(f"/api/v1/namespaces/{namespace}/serviceaccounts")
    )


def grouped(name: str, *, namespace: str, where: str, replicas: int = 1, group: str = "shop") -> list[dict[str, Any]]:
    one = deployment(name, replicas=replicas, namespace=namespace, labels={"app-group": group}, nodeName=where)
    one["metadata"]["labels"] = {"app-group": group}
    return [one]


def entrance(namespace: str = "shop", *, group: str = "shop") -> dict[str, Any]:
    """The input proxy: one per node."""
    template = deployment("entry", namespace=namespace, labels={"app-group": group, keys.ROLE: "input-proxy"})
    template["kind"] = "DaemonSet"
    del template["spec"]["replicas"]
    template["spec"]["template"]["spec"].pop("schedulerName")
    template["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    return template


def ready_pods(cluster: Cluster, namespace: str = "shop") -> dict[str, str]:
    """Ready pods and their nodes."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in cluster.pods(namespace)
        if any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))
    }


def pods_of(cluster: Cluster, workload: str, *, namespace: str = "shop") -> dict[str, str]:
    return {name: node for name, node in ready_pods(cluster, namespace).items() if name.startswith(workload + "-")}


def monitored(cluster: Cluster, *, dialect: str = "auto", period: int = 1, window: str = "6s", **spec: Any) -> None:
    version = "ecotone.dev/v1alpha1"
    cluster.create(
        {
            "apiVersion": version,
            "kind": "Cluster",
            "metadata": {"name": "all"},
            "spec": {"runPeriod": period, "window": window},
        },
        {
            "apiVersion": version,
            "kind": "AppGroup",
            "metadata": {"name": "shop", "namespace": "shop"},
            "spec": {"runPeriod": period, "name": "shop", "window": window, "dialect": dialect, **spec},
        },
    )


def ours_on(cluster: Cluster, path: str) -> dict[str, str]:
    found: dict[str, str] = cluster.call("GET", path)["metadata"].get("annotations", {})
    return {key: value for key, value in found.items() if key.startswith(keys.PREFIX)}


def on_workload(cluster: Cluster, name: str, *, namespace: str = "shop", kind: str = "deployments") -> dict[str, str]:
    return ours_on(cluster, f"/apis/apps/v1/namespaces/{namespace}/{kind}/{name}")


def on_node(cluster: Cluster, name: str) -> dict[str, str]:
    return ours_on(cluster, f"/api/v1/nodes/{name}")


def table(there: dict[str, str], key: str) -> dict[str, float]:
    found: dict[str, float] = json.loads(there.get(key, "{}"))
    return found


def conditions(cluster: Cluster, path: str) -> dict[str, dict[str, Any]]:
    status = cluster.call("GET", path).get("status", {})
    return {each["type"]: each for each in status.get("conditions", [])}
