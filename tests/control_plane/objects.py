"""Short forms of the Kubernetes objects that tests create."""

from __future__ import annotations

from typing import Any


def node(name: str, *, cpu: str = "4", memory: str = "16Gi", pods: str = "110", **more: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    spec = more.pop("spec", {})
    resources = {"cpu": cpu, "memory": memory, "pods": pods, **more.pop("resources", {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": more.pop("annotations", {})},
        "spec": spec,
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
            **more,
        },
    }


def pod(
    name: str,
    *,
    cpu: str | None = "100m",
    memory: str | None = "64Mi",
    namespace: str = "default",
    scheduler: str = "ecotone",
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    container = {"name": "main", "image": "registry.test/none", "resources": {"requests": requests}}
    container.update(spec.pop("container", {}))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels or {},
            "annotations": annotations or {},
        },
        "spec": {
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [container],
            **spec,
        },
    }


def deployment(
    name: str, *, replicas: int = 1, namespace: str = "default", annotations: dict[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    template = pod(name, namespace=namespace, labels={"app": name, **more.pop("labels", {})}, **more)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations or {}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {key: template["metadata"][key] for key in ("labels", "annotations")},
                "spec": template["spec"],
            },
        },
    }


def local_volume(name: str, where: str, size: str) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [where]}]}]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "local",
            "local": {"path": "/none"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        },
    }


def claim(name: str, storage: str, size: str = "1Gi") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
        },
    }


def mounting(name: str, *claims: str) -> dict[str, Any]:
    sources = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in claims]
    return pod(name, volumes=sources)


def waiting_class(name: str, provisioner: str) -> dict[str, Any]:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
