"""A live cluster read once: the same snapshot that files give, from the API server's lists.

Used by ``explain``, ``plan`` and ``apply``. Every list is a consistent read; all together are not one instant, which is
why whatever is carried out afterwards names uids and versions.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from types import GenericAlias
from typing import Any

import msgspec

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.kubeconfig import Connection, connect
from ecotone.kube.reading.figures import told, why_not_believed
from ecotone.kube.resources import Resource
from ecotone.manifests import wire
from ecotone.manifests.decoding import Found
from ecotone.manifests.files import Amend
from ecotone.manifests.store import ObjectStore
from ecotone.model.columns.network import DEFAULT_MAX_AGE
from ecotone.model.snapshot import Snapshot
from ecotone.model.state import ClusterState

log = logging.getLogger(__name__)

PAGE = 2_000
REQUEST_TIMEOUT = 30.0
READ = (resources.NODES, resources.PODS, *resources.SURROUNDINGS)
NEEDED = {resources.NODES, resources.PODS}


def read_cluster(
    *,
    kubeconfig: Path | str | None = None,
    context: str | None = None,
    now: float | None = None,
    max_age: float | None = None,
    seed: int | None = None,
    trusted: bool = False,
    request_timeout: float = REQUEST_TIMEOUT,
    amend: Amend | None = None,
    notes: list[str] | None = None,
) -> Snapshot:
    """The cluster as the API server tells it now. `request_timeout` bounds each list, repeated attempts included; `amend`
    may change and add objects before they are used, and says what it did in `notes`.

    What is measured counts if the cluster keeps it for the monitor, or `trusted`; else a note says why it does not.
    """
    connection = connect(kubeconfig=None if kubeconfig is None else str(kubeconfig), context=context)
    state = ClusterState(
        now=time.time() if now is None else now,
        max_age=DEFAULT_MAX_AGE if max_age is None else max_age,
        seed=seed or 0,
    )
    objects, doubt = asyncio.run(_read_all(connection, request_timeout, trusted=trusted))
    if doubt is not None and notes is not None:
        notes.append(told(doubt))
    if amend is not None:
        found = amend([Found(kind, value, "the cluster") for kind, value in objects], [] if notes is None else notes)
        objects = [(each.kind, each.value) for each in found]
    state.vouched = doubt is None
    store = ObjectStore(state)
    store.believes = state.vouched
    store.load(objects, left_out=_left_out)
    return state.freeze()


def _left_out(kind: str, given: Any, error: Exception) -> None:
    """One tenant's object that makes no sense must not keep everybody from looking at the cluster."""
    log.warning("%s %s/%s is left out: %s", kind, given.metadata.namespace, given.metadata.name, error)


async def _read_all(
    connection: Connection, request_timeout: float, *, trusted: bool
) -> tuple[list[tuple[str, Any]], str | None]:
    """All objects, and why what is measured on them is not to be believed."""
    async with ApiClient(connection) as client:
        lists = await asyncio.gather(*(_read(client, resource, request_timeout) for resource in READ))
        doubt = None if trusted else await why_not_believed(client, timeout=request_timeout)
    return [item for one in lists for item in one], doubt


async def _read(client: ApiClient, resource: Resource, request_timeout: float) -> list[tuple[str, Any]]:
    """All objects of a kind; one that this server does not have, or does not show us, is empty."""
    decoder = msgspec.json.Decoder(_page_of(resource))
    found: list[tuple[str, Any]] = []
    token = ""
    while True:
        query = {"limit": str(PAGE), **({"continue": token} if token else {})}
        try:
            deadline = time.monotonic() + request_timeout
            answer = await client.request(
                "GET", resource.path(), query=query, timeout=request_timeout, deadline=deadline
            )
        except ApiError as error:
            if error.status in (403, 404) and resource not in NEEDED:
                return found
            raise
        try:
            page = decoder.decode(answer)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise UnreachableError(f"its list of {resource.plural} cannot be read: {error}") from None
        found += [(resource.kind, item) for item in page.items or []]
        before, token = token, page.metadata.get("continue") or ""
        if not token:
            return found
        if token == before:
            raise UnreachableError(f"its list of {resource.plural} has no end")


def _page_of(resource: Resource) -> Any:
    shape = wire.KINDS[resource.kind].shape
    items = GenericAlias(list, (shape,))
    return msgspec.defstruct("Page", [("metadata", dict[str, Any]), ("items", items | None, None)])
