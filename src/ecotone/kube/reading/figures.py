"""Whether a live cluster keeps measured keys for the monitor: the one question on which belief in them depends."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.resources import ADMISSION_BINDINGS, ADMISSION_POLICIES, Resource
from ecotone.manifests import figures_policy

HINT = "install it with `ecotone manifests admission rbac | kubectl apply -f -`, or say --trust-annotations"


async def why_not_believed(client: ApiClient, *, timeout: float | None = None) -> str | None:
    """None if the policy and its binding stand; unreachable servers are the caller's to bear.

    `timeout` bounds each of the two questions, repeated attempts included.
    """
    kinds = (ADMISSION_POLICIES, ADMISSION_BINDINGS)
    try:
        found, bound = await asyncio.gather(*(_get(client, kind, timeout) for kind in kinds))
    except ApiError as error:
        if error.status == 403:
            return f"the admission policy {figures_policy.NAME} may not be looked at: {error.detail}"
        raise
    return figures_policy.why_not(found, bound)


def told(why: str) -> str:
    """For people, where nothing that is measured counts."""
    return f"what is measured is not believed: {why}; {HINT}"


async def _get(client: ApiClient, resource: Resource, timeout: float | None) -> dict[str, Any] | None:
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        answer = await client.request(
            "GET", resource.path(name=figures_policy.NAME), timeout=timeout, deadline=deadline
        )
    except ApiError as error:
        if error.not_found:
            return None
        raise
    return decode(answer, dict[str, Any])
