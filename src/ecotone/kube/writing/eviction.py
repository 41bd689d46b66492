"""Asking a running pod to leave: evictions that respect budgets, and deletions for preemption.

An eviction is the polite form: the API server counts it against the pod's disruption budget atomically and answers 429
when the budget is spent. Preemption is the documented impolite form (kube-scheduler deletes its victims, preferring
those whose budgets allow it), announced on the pod by a DisruptionTarget condition first. Both name the uid, so that a
replacement with the same name (a StatefulSet's) is never hit.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Any

import msgspec

from ecotone.kube.client import STRATEGIC_PATCH, ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.reading.watching import Partial
from ecotone.kube.resources import PODS


class EvictionOutcome(Enum):
    EVICTED = "evicted"
    BUDGET = "budget"
    """A disruption budget does not allow it now."""
    BUSY = "busy"
    """The server has too much to do and did not look at it."""
    CHANGED = "changed"
    """The pod is no longer what the decision was made on: gone, replaced, or modified."""
    REFUSED = "refused"
    """The server cannot evict it, for example because several budgets select it."""


class Evicted(msgspec.Struct, frozen=True):
    outcome: EvictionOutcome
    detail: str = ""


async def evict(
    client: ApiClient,
    *,
    namespace: str,
    name: str,
    uid: str,
    resource_version: str | None = None,
    dry_run: bool = False,
) -> Evicted:
    """Evicts exactly this pod (and, given ``resource_version``, exactly as it was when judged)."""
    preconditions = {"uid": uid}
    if resource_version is not None:
        preconditions["resourceVersion"] = resource_version
    options: dict[str, Any] = {"preconditions": preconditions}
    if dry_run:
        options["dryRun"] = ["All"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": namespace},
        "deleteOptions": options,
    }
    path = PODS.path(namespace=namespace, name=name)
    query = {"dryRun": "All"} if dry_run else None
    try:
        # The server repeats an eviction whose preconditions fail for ten seconds before it says so: look first.
        pod = decode(await client.request("GET", path), Partial).metadata
        if pod.uid != uid or resource_version not in (None, pod.resource_version):
            return Evicted(EvictionOutcome.CHANGED, "the pod has changed since the decision")
        await client.request("POST", path + "/eviction", body=body, query=query, patient=False)
    except ApiError as error:
        if error.status == 429 and "DisruptionBudget" in error.causes:
            return Evicted(EvictionOutcome.BUDGET, error.detail)
        if error.status == 429:
            return Evicted(EvictionOutcome.BUSY, error.detail)
        if error.not_found or error.conflict:
            return Evicted(EvictionOutcome.CHANGED, error.detail)
        if error.status in (400, 403, 422, 500):
            return Evicted(EvictionOutcome.REFUSED, error.detail)
        raise
    return Evicted(EvictionOutcome.EVICTED)


async def preempt(
    client: ApiClient, *, namespace: str, name: str, uid: str, message: str, deadline: float | None = None
) -> bool:
    """Marks the victim with a DisruptionTarget condition, then deletes it; False when it is already gone."""
    status = {
        "metadata": {"uid": uid},
        "status": {
            "conditions": [
                {
                    "type": "DisruptionTarget",
                    "status": "True",
                    "reason": "PreemptionByScheduler",
                    "message": message,
                    "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                }
            ]
        },
    }
    path = PODS.path(namespace=namespace, name=name)
    try:
        await client.request("PATCH", path + "/status", body=status, content_type=STRATEGIC_PATCH, deadline=deadline)
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        await client.request("DELETE", path, body=options, deadline=deadline)
    except ApiError as error:
        if _is_another(error):
            return False
        raise
    return True


def _is_another(error: ApiError) -> bool:
    """The pod meant is gone; a patch that names a namesake's uid is answered as an attempt to change it."""
    return error.not_found or error.conflict or (error.status == 422 and "metadata.uid" in error.detail)


async def set_status(
    client: ApiClient,
    *,
    namespace: str,
    name: str,
    uid: str,
    conditions: list[dict[str, str]] | None = None,
    nominated_node: str | None = None,
    deadline: float | None = None,
) -> bool:
    """Writes pod conditions and the nominated node ("" clears it); False when the pod is gone or another."""
    status: dict[str, Any] = {}
    if conditions:
        status["conditions"] = conditions
    if nominated_node is not None:
        status["nominatedNodeName"] = nominated_node or None
    body = msgspec.json.encode({"metadata": {"uid": uid}, "status": status})
    path = PODS.path(namespace=namespace, name=name, subresource="status")
    try:
        await client.request("PATCH", path, body=body, content_type=STRATEGIC_PATCH, deadline=deadline)
    except ApiError as error:
        if _is_another(error):
            return False
        raise
    return True
