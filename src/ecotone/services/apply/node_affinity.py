"""Carrying out a plan through the workloads' own templates, so that it outlasts the pods it was made for.

The controller replaces the pods once the template names their nodes, and whichever scheduler they ask for puts them
there. A plan is made on a snapshot and the cluster moves on: each workload is read again just before the write, left
alone if somebody gave it node affinity meanwhile, and patched only in the very version that was read.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from ecotone.kube.client import STRATEGIC_PATCH, ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import DEPLOYMENTS, STATEFUL_SETS
from ecotone.model.decisions import Decision
from ecotone.model.objects import WorkloadKey
from ecotone.model.snapshot import Snapshot
from ecotone.planning.node_affinity import OWN_AFFINITY, Patch, affinity_patches

RESOURCES = {resource.kind: resource for resource in (DEPLOYMENTS, STATEFUL_SETS)}


@dataclass(frozen=True)
class Tied:
    """One workload and what became of it."""

    workload: WorkloadKey
    nodes: tuple[str, ...]
    done: bool
    detail: str = ""

    @property
    def name(self) -> str:
        return f"{self.workload.kind.lower()}/{self.workload}"

    def as_document(self) -> dict[str, Any]:
        owner = {"workload": str(self.workload), "kind": self.workload.kind}
        return {"action": "affinity", **owner, "nodes": list(self.nodes), "done": self.done, "detail": self.detail}


async def tie_to_nodes(
    client: ApiClient, snapshot: Snapshot, decisions: Sequence[Decision], *, rehearse: bool
) -> AsyncIterator[Tied]:
    """With ``rehearse`` the API server checks every write and makes none."""
    patches, alone = affinity_patches(snapshot, decisions)
    for each in alone:
        yield Tied(each.workload, (), done=False, detail=each.why)
    for patch in patches:
        try:
            yield await _tie(client, patch, rehearse=rehearse)
        except (ApiError, UnreachableError) as error:
            yield Tied(patch.workload, patch.nodes, done=False, detail=str(error))


async def _tie(client: ApiClient, patch: Patch, *, rehearse: bool) -> Tied:
    key = patch.workload
    resource = RESOURCES[key.kind]
    now: dict[str, Any] = await client.get(dict, resource, name=key.name, namespace=key.namespace)
    affinity = now["spec"]["template"]["spec"].get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    if node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution"):
        return Tied(key, (), done=False, detail=OWN_AFFINITY)
    version = {"uid": now["metadata"]["uid"], "resourceVersion": now["metadata"]["resourceVersion"]}
    await client.patch(
        resource,
        {"metadata": version, **patch.body},
        name=key.name,
        namespace=key.namespace,
        content_type=STRATEGIC_PATCH,
        dry_run=rehearse,
    )
    return Tied(key, patch.nodes, done=True)
