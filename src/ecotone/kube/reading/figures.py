"""Whether a live cluster keeps measured keys for the monitor: the one question on which belief in them depends."""

from __future__ import annotations

import asyncio
from typing import Any

from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.resources import ADMISSION_BINDINGS, ADMISSION_POLICIES, Resource
from ecotone.manifests import figures_policy

HINT = "install it with `ecotone manifests admission rbac | kubectl apply -f -`, or say --trust-annotations"


async def why_not_believed(client: ApiClient) -> str | None:
    """None if the policy and its binding stand; unreachable servers are the caller's to bear."""
    try:
        found, bound = await asyncio.gather(*(_get(client, one) for one in (ADMISSION_POLICIES, ADMISSION_BINDINGS)))
    except ApiError as error:
        if error.status == 403:
            return f"the admission policy {figures_policy.NAME} may not be looked at: {error.detail}"
        raise
    return figures_policy.why_not(found, bound)


def told(why: str) -> str:
    """For people, where nothing that is measured counts."""
    return f"what is measured is not believed: {why}; {HINT}"


async def _get(client: ApiClient, resource: Resource) -> dict[str, Any] | None:
    try:
        answer = await client.request("GET", resource.path(name=figures_policy.NAME))
    except ApiError as error:
        if error.not_found:
            return None
        raise
    return decode(answer, dict[str, Any])
