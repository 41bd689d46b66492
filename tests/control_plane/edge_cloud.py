"""KubeDSM's cluster and services on a real control plane: nodes of the published sizes, four Deployments, their budgets.

An autoscaler's work is done by whoever drives the test: it writes replica counts through the scale subresource, as the
horizontal pod autoscaler does. Two of the Deployments have an autoscaler object, which has no metrics here and changes
nothing; for the descheduler it means that these are not its to scale.
"""

from __future__ import annotations

from typing import Any

from control_plane.closed_loop import DEPLOYMENTS, GROUPS, MERGE
from control_plane.cluster import Cluster
from control_plane.objects import deployment, node

NODES = {
    "edge-1": ("edge", "4", "4Gi"),
    "edge-2": ("edge", "3", "3Gi"),
    "edge-3": ("edge", "4", "6Gi"),
    "cloud-1": ("cloud", "64", "96Gi"),
}
SERVICES = {"a": ("1", "950Mi"), "b": ("1", "1900Mi"), "c": ("1", "950Mi"), "d": ("2", "1900Mi")}
LEAST, MOST = 2, 6
SCALED_BY_OTHERS = ("a", "b")
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def edge_node(name: str) -> dict[str, Any]:
    tier, cpu, memory = NODES[name]
    return node(name, cpu=cpu, memory=memory, labels={"ecotone.dev/tier": tier})


def build(cluster: Cluster) -> None:
    cluster.create(*(edge_node(name) for name in NODES))
    for name, (cpu, memory) in SERVICES.items():
        said = {"ecotone.dev/edge-share": "1"}
        labels = {"app-group": "stress"}
        made = deployment(name, replicas=LEAST, annotations=said, labels=labels, cpu=cpu, memory=memory)
        cluster.call("POST", DEPLOYMENTS, made)
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": name}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name}, "spec": spec}
        cluster.call("POST", BUDGETS, budget)
    for name in SCALED_BY_OTHERS:
        cluster.call("POST", AUTOSCALERS, _autoscaler(name))
    group = {"name": "stress", "runPeriod": 1, "window": "1s", "qos": {"latency": {"edge": 50, "cloud": 300}}}
    body = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "AppGroup", "metadata": {"name": "stress"}, "spec": group}
    cluster.call("POST", GROUPS, body)


def _autoscaler(name: str) -> dict[str, Any]:
    metric = {
        "type": "Pods",
        "pods": {"metric": {"name": "requests"}, "target": {"type": "AverageValue", "averageValue": "5"}},
    }
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec = {"scaleTargetRef": target, "minReplicas": LEAST, "maxReplicas": MOST, "metrics": [metric]}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name}, "spec": spec}


def scale(cluster: Cluster, service: str, replicas: int) -> None:
    """What an autoscaler writes."""
    cluster.call("PATCH", f"{DEPLOYMENTS}/{service}/scale", {"spec": {"replicas": replicas}}, content_type=MERGE)


def of(pods: list[dict[str, Any]], service: str) -> list[dict[str, Any]]:
    return [each for each in pods if each["metadata"]["labels"].get("app") == service]


def is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", [])
    return "deletionTimestamp" not in pod["metadata"] and any(
        one["type"] == "Ready" and one["status"] == "True" for one in conditions
    )
