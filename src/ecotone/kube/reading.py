"""A live cluster read once: the same snapshot that files give, from the API server's lists.

Used by ``explain``, ``plan`` and ``apply``. Every list is a consistent read; all together are not one instant, which is
why whatever is carried out afterwards names uids and versions.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import msgspec

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError
from ecotone.kube.kubeconfig import Connection, connect
from ecotone.kube.resources import Resource
from ecotone.manifests import wire
from ecotone.manifests.store import Objects
from ecotone.model.errors import InputError
from ecotone.model.network import DEFAULT_MAX_AGE
from ecotone.model.snapshot import Snapshot

PAGE = 2_000
READ = (resources.NODES, resources.PODS, *resources.SURROUNDINGS)
NEEDED = {resources.NODES, resources.PODS}


def read_cluster(
    *,
    kubeconfig: Path | str | None = None,
    context: str | None = None,
    now: float | None = None,
    max_age: float | None = None,
    seed: int | None = None,
) -> Snapshot:
    """The cluster as the API server tells it now."""
    connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
    objects = Objects(
        now=time.time() if now is None else now,
        max_age=DEFAULT_MAX_AGE if max_age is None else max_age,
        seed=seed or 0,
    )
    objects.load(asyncio.run(_read_all(connection)))
    return objects.state.freeze()


async def _read_all(connection: Connection) -> list[tuple[str, Any]]:
    async with ApiClient(connection) as client:
        lists = await asyncio.gather(*(_read(client, resource) for resource in READ))
    return [item for one in lists for item in one]


async def _read(client: ApiClient, resource: Resource) -> list[tuple[str, Any]]:
    """All objects of a kind; one that this server does not have, or does not show us, is empty."""
    decoder = msgspec.json.Decoder(_page_of(resource))
    found: list[tuple[str, Any]] = []
    token = ""
    while True:
        query = {"limit": str(PAGE), **({"continue": token} if token else {})}
        try:
            answer = await client.request("GET", resource.path(), query=query, timeout=60)
        except ApiError as error:
            if error.status in (403, 404) and resource not in NEEDED:
                return found
            raise
        try:
            page = decoder.decode(answer)
        except msgspec.MsgspecError as error:
            raise InputError(f"{resource.plural} of the API server cannot be read: {error}") from None
        found += [(resource.kind, item) for item in page.items or []]
        token = page.metadata.get("continue") or ""
        if not token:
            return found


def _page_of(resource: Resource) -> Any:
    shape = wire.KINDS[resource.kind].shape
    return msgspec.defstruct("Page", [("metadata", dict[str, Any]), ("items", list[shape] | None, None)])  # type: ignore[valid-type]
