"""The scheduler's Deployment: two replicas with leader election, unprivileged, read-only, with probes."""

from __future__ import annotations

from typing import Any

from ecotone.services.install.rbac import SCHEDULER

PORT = 10360
IMAGE = "ecotone:0.1.0"


def scheduler(
    *,
    namespace: str = "kube-system",
    image: str = IMAGE,
    scheduler_name: str = "ecotone",
    policy: str = "ecotone",
    replicas: int = 2,
) -> list[dict[str, Any]]:
    arguments = [
        "serve",
        "scheduler",
        f"--scheduler-name={scheduler_name}",
        f"--policy={policy}",
        "--leader-elect",
        f"--lease-namespace={namespace}",
        f"--listen=0.0.0.0:{PORT}",
    ]
    return [
        deployment(SCHEDULER, namespace=namespace, image=image, arguments=arguments, port=PORT, replicas=replicas),
        budget(SCHEDULER, namespace=namespace),
    ]


def deployment(
    name: str, *, namespace: str, image: str, arguments: list[str], port: int, replicas: int
) -> dict[str, Any]:
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "ecotone"}
    probe = {"port": port, "scheme": "HTTP"}
    container = {
        "name": "main",
        "image": image,
        "command": ["ecotone"],
        "args": arguments,
        "ports": [{"name": "http", "containerPort": port}],
        "livenessProbe": {"httpGet": {"path": "/healthz", **probe}, "initialDelaySeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    # The scheduler must not wait for itself: its own pods are placed by the cluster's default scheduler.
    spec = {
        "serviceAccountName": name,
        "schedulerName": "default-scheduler",
        "priorityClassName": "system-cluster-critical",
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def budget(name: str, *, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}},
    }
