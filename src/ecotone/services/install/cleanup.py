"""Taking off a cluster what Ecotone's programs wrote into it: annotations, reservations, leases.

Uninstalling removes objects; it does not remove what was written onto other people's. So this takes the measured values
off nodes, workloads and ReplicaSets (Kubernetes copies a Deployment's annotations there and never removes them), the
records of surges, and with them reservations and leases. What owners wrote themselves (QoS targets, tiers, prices, channel
priorities) is theirs and stays. Stop the programs first: a running monitor writes its values again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from dataclasses import dataclass

import msgspec

from ecotone.kube import resources
from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError
from ecotone.kube.resources import Resource
from ecotone.manifests import keys, measured_keys
from ecotone.services.install.rbac import DESCHEDULER, MONITOR, SCHEDULER

NODE_KEYS = (*measured_keys.NODE_FIGURES, *measured_keys.STAMPS)
WORKLOAD_KEYS = (*measured_keys.WORKLOAD_FIGURES, *measured_keys.STAMPS, keys.PREFIX + "surge")
ANNOTATED: tuple[tuple[Resource, tuple[str, ...]], ...] = (
    (resources.NODES, NODE_KEYS),
    (resources.DEPLOYMENTS, WORKLOAD_KEYS),
    (resources.STATEFUL_SETS, WORKLOAD_KEYS),
    (resources.DAEMON_SETS, WORKLOAD_KEYS),
    # Last: as long as a Deployment has an annotation it is copied again.
    (resources.REPLICA_SETS, WORKLOAD_KEYS),
)
LEASES = (SCHEDULER, MONITOR, DESCHEDULER)
PAGE = 500


class _Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str = ""
    annotations: dict[str, str] = {}


class _Object(msgspec.Struct):
    metadata: _Meta


class _ListMeta(msgspec.Struct, rename="camel"):
    continue_: str = msgspec.field(name="continue", default="")


class _List(msgspec.Struct):
    items: list[_Object] = []
    metadata: _ListMeta = msgspec.field(default_factory=_ListMeta)


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing taken away; `keys` for annotations, none for a whole object."""

    kind: str
    name: str
    namespace: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"{self.namespace}/{self.name}" if self.namespace else self.name
        what = ", ".join(key.removeprefix(keys.PREFIX) for key in self.keys)
        return f"{self.kind.lower()} {place}" + (f": {what}" if what else "")


async def cleanup(client: ApiClient, *, namespace: str = "kube-system", dry_run: bool = False) -> list[Removal]:
    """`namespace` is where the leases are. With `dry_run` the API server checks each write and changes nothing."""
    done: list[Removal] = []

    async def remove(removal: Removal, write: Awaitable[bytes]) -> None:
        if await _written(write):
            done.append(removal)

    for resource, known in ANNOTATED:
        for removal in _annotated(resource, known, await _list(client, resource)):
            body = {"metadata": {"annotations": dict.fromkeys(removal.keys)}}
            place = removal.namespace or None
            await remove(removal, client.patch(resource, body, name=removal.name, namespace=place, dry_run=dry_run))
    for one in await _list(client, resources.RESERVATIONS):
        meta = one.metadata
        gone = client.delete(resources.RESERVATIONS, name=meta.name, namespace=meta.namespace, dry_run=dry_run)
        await remove(Removal("Reservation", meta.name, meta.namespace), gone)
    for name in LEASES:
        gone = client.delete(resources.LEASES, name=name, namespace=namespace, dry_run=dry_run)
        await remove(Removal("Lease", name, namespace), gone)
    return done


def _annotated(resource: Resource, known: tuple[str, ...], found: list[_Object]) -> Iterator[Removal]:
    for one in found:
        ours = tuple(key for key in known if key in one.metadata.annotations)
        if ours:
            yield Removal(resource.kind, one.metadata.name, one.metadata.namespace, ours)


async def _list(client: ApiClient, resource: Resource) -> list[_Object]:
    """All objects of a kind, page by page; none where the kind itself is not installed."""
    found: list[_Object] = []
    query = {"limit": str(PAGE)}
    while True:
        try:
            page = decode(await client.request("GET", resource.path(), query=query), _List)
        except ApiError as error:
            if error.status == 404:
                return found
            raise
        found += page.items
        if not page.metadata.continue_:
            return found
        query = {"limit": str(PAGE), "continue": page.metadata.continue_}


async def _written(write: Awaitable[bytes]) -> bool:
    """False if the object had gone in the meantime."""
    try:
        await write
    except ApiError as error:
        if error.status == 404:
            return False
        raise
    return True
