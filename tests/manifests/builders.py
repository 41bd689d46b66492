"""Kubernetes objects in a few words, as plain data and as wire objects."""

from __future__ import annotations

from typing import Any

import msgspec

from ecotone.manifests import wire
from ecotone.manifests.files import read_paths
from ecotone.manifests.yaml.text import yaml_text

VERSIONS = {"": "v1", "ecotone.dev": "ecotone.dev/v1alpha1"}


def thing(kind: str, name: str, *, namespace: str | None = None, **fields: Any) -> dict[str, Any]:
    group = wire.KINDS[kind].group
    meta = {"name": name, **({"namespace": namespace} if namespace else {})}
    for key in ("labels", "annotations", "ownerReferences", "uid", "creationTimestamp", "deletionTimestamp"):
        if key in fields:
            meta[key] = fields.pop(key)
    return {"apiVersion": VERSIONS.get(group, f"{group}/v1"), "kind": kind, "metadata": meta, **fields}


def node(name: str, *, cpu: str = "4", memory: str = "8Gi", **fields: Any) -> dict[str, Any]:
    return thing("Node", name, status={"allocatable": {"cpu": cpu, "memory": memory, "pods": "110"}}, **fields)


def owned(kind: str, name: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": True}]


def pod(name: str, *, cpu: str | None = "100m", **fields: Any) -> dict[str, Any]:
    spec = fields.pop("spec", {})
    requests = {} if cpu is None else {"cpu": cpu}
    containers = [{"name": "main", "image": "app:1", "resources": {"requests": requests}}]
    return thing("Pod", name, spec={"containers": containers, **spec}, **fields)


def typed(given: dict[str, Any]) -> Any:
    return msgspec.convert(given, wire.KINDS[given["kind"]].shape)


def wired(*things: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(each["kind"], typed(each)) for each in things]


def snapshot_of(tmp_path: Any, *things: dict[str, Any], **options: Any) -> Any:
    file = tmp_path / "objects.yaml"
    file.write_text(yaml_text(things))
    return read_paths([file], **options)
