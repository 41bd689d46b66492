"""Server-side apply of annotations, and of a status: the two writes of a program that reports.

Apply says "these are the fields I hold": what a manager applied before and leaves out now is removed, and what others
wrote stays. Apply also *creates* an object that is not there. The uid in the body prevents it: an object that was deleted,
or replaced by a namesake, is answered with a conflict, and nothing is created.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ecotone.kube.client import MERGE_PATCH, ApiClient
from ecotone.kube.resources import Resource

APPLY_PATCH = "application/apply-patch+yaml"


async def apply_annotations(
    client: ApiClient,
    resource: Resource,
    annotations: Mapping[str, str],
    *,
    name: str,
    namespace: str | None,
    uid: str,
    manager: str,
    deadline: float | None = None,
) -> None:
    """Makes these the annotations that ``manager`` holds on the object; none if empty."""
    metadata: dict[str, Any] = {"name": name, "uid": uid}
    if namespace:
        metadata["namespace"] = namespace
    if annotations:
        metadata["annotations"] = dict(annotations)
    await _apply(
        client, resource, {"metadata": metadata}, name=name, namespace=namespace, manager=manager, deadline=deadline
    )


async def apply_status(
    client: ApiClient,
    resource: Resource,
    status: Mapping[str, Any],
    *,
    name: str,
    namespace: str | None,
    uid: str,
    manager: str,
    deadline: float | None = None,
) -> None:
    """Makes this the part of the object's status that ``manager`` holds."""
    metadata: dict[str, Any] = {"name": name, "uid": uid}
    if namespace:
        metadata["namespace"] = namespace
    body = {"metadata": metadata, "status": status}
    await _apply(
        client, resource, body, name=name, namespace=namespace, manager=manager, subresource="status", deadline=deadline
    )


async def _apply(
    client: ApiClient,
    resource: Resource,
    body: dict[str, Any],
    *,
    name: str,
    namespace: str | None,
    manager: str,
    subresource: str | None = None,
    deadline: float | None,
) -> None:
    await client.request(
        "PATCH",
        resource.path(namespace=namespace, name=name, subresource=subresource),
        body={"apiVersion": resource.api_version, "kind": resource.kind, **body},
        query={"fieldManager": manager, "force": "true"},
        content_type=APPLY_PATCH,
        deadline=deadline,
    )


async def remove_annotations(
    client: ApiClient,
    resource: Resource,
    keys: Iterable[str],
    *,
    name: str,
    namespace: str | None,
    uid: str,
    deadline: float | None = None,
) -> None:
    """Takes annotations off that somebody else put there (a Deployment's, copied to its ReplicaSets)."""
    body = {"metadata": {"uid": uid, "annotations": dict.fromkeys(keys)}}
    await client.request(
        "PATCH",
        resource.path(namespace=namespace, name=name),
        body=body,
        content_type=MERGE_PATCH,
        deadline=deadline,
    )
