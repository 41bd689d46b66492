"""Setting what a plan advises: how Services spread their traffic, and how many replicas workloads have.

Asked for by name, never by itself. Each object is read again just before the write and patched only in the version that was
read; one that says something of its own meanwhile is left alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.kube.client import MERGE_PATCH, ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import DEPLOYMENTS, SERVICES, STATEFUL_SETS, Resource
from ecotone.planning.advice import PREFER_SAME_NODE, Advice

SCALED = {resource.kind: resource for resource in (DEPLOYMENTS, STATEFUL_SETS)}


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of one object and what became of it."""

    kind: str
    object: str
    key: str
    value: str | int
    done: bool
    detail: str = ""

    @property
    def name(self) -> str:
        return f"{self.kind.lower()}/{self.object}"

    def as_document(self) -> dict[str, Any]:
        return {
            "action": "set", "kind": self.kind, "object": self.object, self.key: self.value, "done": self.done,
            "detail": self.detail,
        }  # fmt: skip


async def follow(
    client: ApiClient, given: Sequence[Advice], *, traffic: bool, replicas: bool, rehearse: bool
) -> AsyncIterator[Setting]:
    """With `rehearse` the API server checks every write and makes none."""
    services = sorted({name for each in given for name in each.services if traffic and (replicas or not each.replicas)})
    for name in services:
        yield await _set(client, SERVICES, name, "trafficDistribution", PREFER_SAME_NODE, rehearse=rehearse)
    counts = {key: count for each in given for key, count in each.replicas.items() if replicas}
    for key, count in counts.items():
        if key.kind not in SCALED:
            yield Setting(key.kind, str(key), "replicas", count, done=False, detail=f"a {key.kind} is not scaled here")
        else:
            yield await _set(client, SCALED[key.kind], str(key), "replicas", count, rehearse=rehearse)


async def _set(
    client: ApiClient, resource: Resource, full: str, key: str, value: str | int, *, rehearse: bool
) -> Setting:
    namespace, _, name = full.partition("/")
    try:
        now: dict[str, Any] = await client.get(dict, resource, name=name, namespace=namespace)
        if key == "trafficDistribution" and now["spec"].get(key) not in (None, value):
            return Setting(resource.kind, full, key, value, done=False, detail=f"it says {now['spec'][key]}")
        version = {"uid": now["metadata"]["uid"], "resourceVersion": now["metadata"]["resourceVersion"]}
        await client.patch(
            resource, {"metadata": version, "spec": {key: value}}, name=name, namespace=namespace,
            content_type=MERGE_PATCH, dry_run=rehearse,
        )  # fmt: skip
    except (ApiError, UnreachableError) as error:
        return Setting(resource.kind, full, key, value, done=False, detail=str(error))
    return Setting(resource.kind, full, key, value, done=True)
