"""From watch streams to the live cache: one mirror per kind, filled in the order things refer to each other.

Files and streams share ``manifests.store.Objects``, which knows what every kind of object means for the model. It applies
its results to a ``ClusterState``; here it is handed an ``Intake`` instead, which lets pods and nodes take the way through
the cache (assumptions, queue, coalesced node changes) and everything else straight into the state, with a word to the
queue that something changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Any, Protocol, cast

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.reflector import Reflector
from ecotone.kube.resources import Resource
from ecotone.manifests import wire
from ecotone.manifests.store import Objects
from ecotone.model.errors import InputError
from ecotone.model.network import NetworkMap
from ecotone.model.nodes import NodeTable
from ecotone.model.objects import Node, Pod, Workload, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.services.live_cache import LiveCache

log = logging.getLogger(__name__)

OPTIONAL = {resources.NETWORK_MAPS, resources.RESERVATIONS}
EVENT_NAMES = {
    "Namespace": "namespace",
    "Service": "service",
    "PodDisruptionBudget": "budget",
    "StorageClass": "storage-class",
    "PersistentVolume": "volume",
    "PersistentVolumeClaim": "claim",
    "Reservation": "reservation",
}


class Keeper(Protocol):
    """Who takes what the streams say: a scheduler, or anybody else with a cache."""

    @property
    def cache(self) -> LiveCache: ...

    def pod_seen(self, pod: Pod) -> None: ...

    def pod_gone(self, key: str) -> None: ...


class Intake:
    """What ``Objects`` takes for a cluster's state."""

    def __init__(self, keeper: Keeper) -> None:
        object.__setattr__(self, "_keeper", keeper)
        object.__setattr__(self, "_state", keeper.cache.state)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._state, name, value)

    @property
    def nodes(self) -> NodeTable:
        self._keeper.cache.settle_nodes()
        return cast(NodeTable, self._state.nodes)

    def put_node(self, node: Node) -> None:
        self._keeper.cache.put_node(node)

    def drop_node(self, name: str) -> None:
        self._keeper.cache.drop_node(name)

    def put_pod(self, pod: Pod) -> None:
        self._keeper.pod_seen(pod)

    def drop_pod(self, key: str) -> None:
        self._keeper.pod_gone(key)

    def put_workload(self, workload: Workload) -> None:
        before = self._state.workloads.get(workload.key)
        if before != workload:
            self._state.put_workload(workload)
            self._keeper.cache.tell("workload", "add" if before is None else "update", before, workload)

    def drop_workload(self, key: WorkloadKey) -> None:
        before = self._state.workloads.get(key)
        self._state.drop_workload(key)
        if before is not None:
            self._keeper.cache.tell("workload", "delete", before, None)

    def set_maps(self, maps: Iterable[NetworkMap]) -> None:
        self._state.set_maps(maps)
        self._keeper.cache.tell("network", "update", None, None)


class _Sink:
    """One kind's way into the store; an object that makes no sense is told about once and left out."""

    def __init__(self, kind: str, objects: Objects, keeper: Keeper) -> None:
        self._kind = kind
        self._objects = objects
        self._keeper = keeper
        self._event = EVENT_NAMES.get(kind)

    def upsert(self, item: Any) -> None:
        try:
            self._objects.put(self._kind, item)
        except InputError as error:
            log.warning("%s %s/%s is ignored: %s", self._kind, item.metadata.namespace, item.metadata.name, error)
            return
        if self._event is not None:
            self._keeper.cache.tell(self._event, "update", None, self._meaning(item.metadata))

    def _meaning(self, metadata: wire.Metadata) -> object:
        """What plugins' hints compare: the model's object where there is one."""
        if self._kind == "PersistentVolumeClaim":
            return self._keeper.cache.state.claims.get(f"{metadata.namespace}/{metadata.name}")
        if self._kind == "PersistentVolume":
            return self._keeper.cache.state.volumes.get(metadata.name)
        return metadata.name

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - the mirror's protocol
        self._objects.drop(self._kind, key)
        if self._event is not None:
            self._keeper.cache.tell(self._event, "delete", key, None)

    def synced(self) -> None:
        return


class Feeds:
    def __init__(self, client: ApiClient, keeper: Keeper, *, silence: float) -> None:
        self._keeper = keeper
        self._objects = Objects(state=cast(ClusterState, Intake(keeper)))
        self._first = [self._mirror(client, resource, silence) for resource in resources.SURROUNDINGS]
        self._nodes = self._mirror(client, resources.NODES, silence)
        self._pods = self._mirror(client, resources.PODS, silence)
        self._synced = asyncio.Event()

    def _mirror(self, client: ApiClient, resource: Resource, silence: float) -> Reflector[Any]:
        sink = _Sink(resource.kind, self._objects, self._keeper)
        shape = wire.KINDS[resource.kind].shape
        return Reflector(client, resource, shape, sink, silence=silence, optional=resource in OPTIONAL)

    def convert(self, given: wire.Pod) -> Pod:
        """A pod that somebody else shows us, with its workload as the streams have told it."""
        return self._objects.convert(given)

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [*self._first, self._nodes, self._pods]

    async def run(self) -> None:
        """Mirrors for ever: first what pods and nodes refer to, then nodes, then pods, so each is resolved once."""
        async with asyncio.TaskGroup() as group:
            for stage in (self._first, [self._nodes], [self._pods]):
                for reflector in stage:
                    group.create_task(reflector.run())
                for reflector in stage:
                    await reflector.wait_synced()
            self._synced.set()

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def resync(self) -> None:
        """A consistent list of nodes and pods that starts now: what a new leader must have seen."""
        await self._nodes.resync()
        await self._pods.resync()
