"""What the pods of our programs have in common: unprivileged, read-only, probed, bounded, with an account of their own.

Everything here passes the `restricted` Pod Security Standard.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

IMAGE = "ecotone:0.1.0"
USER = 65532
CONTROL_PRIORITY = "ecotone-control"
NODE_PRIORITY = "ecotone-node"
SECURE_CONTAINER: dict[str, Any] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def labels(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "ecotone"}


def resources(*, cpu: str, memory: str, memory_limit: str) -> dict[str, Any]:
    """Memory is bounded: what grows beyond is a fault, and ends alone. CPU is not: a throttled program is late."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory_limit}}


def container(
    arguments: Sequence[str],
    *,
    image: str,
    port: int,
    needs: Mapping[str, Any],
    env: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """One of our programs with its probes."""
    probe = {"port": port, "scheme": "HTTP"}
    made: dict[str, Any] = {
        "name": "main",
        "image": image,
        "command": ["ecotone"],
        "args": list(arguments),
        "ports": [{"name": "http", "containerPort": port}],
        "livenessProbe": {"httpGet": {"path": "/healthz", **probe}, "initialDelaySeconds": 10},
        "readinessProbe": {"httpGet": {"path": "/readyz", **probe}},
        "resources": dict(needs),
        "securityContext": SECURE_CONTAINER,
    }
    if env:
        made["env"] = [dict(one) for one in env]
    return made


def pod(
    containers: Sequence[Mapping[str, Any]], *, account: str | None, priority: str | None, **security: Any
) -> dict[str, Any]:
    """The scheduler must not wait for itself: our own pods are placed by the cluster's default scheduler."""
    spec: dict[str, Any] = {
        "schedulerName": "default-scheduler",
        **({} if priority is None else {"priorityClassName": priority}),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
            **security,
        },
        "containers": [dict(one) for one in containers],
    }
    if account is None:
        spec["automountServiceAccountToken"] = False
    else:
        spec["serviceAccountName"] = account
    return spec


def deployment(name: str, spec: Mapping[str, Any], *, namespace: str, replicas: int) -> dict[str, Any]:
    return _workload("Deployment", name, spec, namespace=namespace, replicas=replicas)


def daemon_set(name: str, spec: Mapping[str, Any], *, namespace: str) -> dict[str, Any]:
    """On every node, whatever its taints: where users and pods are, measurements are needed."""
    everywhere = {**spec, "tolerations": [{"operator": "Exists"}]}
    made = _workload("DaemonSet", name, everywhere, namespace=namespace)
    made["spec"]["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}}
    return made


def _workload(kind: str, name: str, spec: Mapping[str, Any], *, namespace: str, **more: Any) -> dict[str, Any]:
    template = {"labels": labels(name), "annotations": scraped(spec["containers"][0]["ports"][0]["containerPort"])}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels(name)},
        "spec": {
            **more,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "template": {"metadata": template, "spec": dict(spec)},
        },
    }


def scraped(port: int, path: str = "/metrics") -> dict[str, str]:
    """The annotations by which most installations of Prometheus find what to collect."""
    return {"prometheus.io/scrape": "true", "prometheus.io/port": str(port), "prometheus.io/path": path}


def budget(name: str, *, namespace: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": namespace, "labels": labels(name)},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app.kubernetes.io/name": name}}},
    }


def priority_classes() -> list[dict[str, Any]]:
    """Above applications, below what the cluster itself needs."""
    texts = {
        CONTROL_PRIORITY: (900_000_000, "Ecotone's monitor and descheduler."),
        NODE_PRIORITY: (800_000_000, "Ecotone's pods on every node: the probe."),
    }
    return [
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name, "labels": {"app.kubernetes.io/part-of": "ecotone"}},
            "value": value,
            "globalDefault": False,
            "description": text,
        }
        for name, (value, text) in texts.items()
    ]
