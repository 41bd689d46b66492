"""From watch streams to the live cache: one mirror per kind, filled in the order things refer to each other.

Files and streams share the ``ObjectStore``, which knows what every kind of object means for the model. Here it puts its
results into the live cache, where pods and nodes meet assumptions and collected node changes; of what surrounds them the
cache's listeners hear that something changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from ecotone.kube import resources
from ecotone.kube.client import ApiClient
from ecotone.kube.reading.reflector import Reflector
from ecotone.kube.resources import Resource
from ecotone.manifests import wire
from ecotone.manifests.store import ObjectStore
from ecotone.model.errors import InputError
from ecotone.model.objects import Pod
from ecotone.services.belief import Belief
from ecotone.services.live_cache import LiveCache

log = logging.getLogger(__name__)

OPTIONAL = {resources.NETWORK_MAPS, resources.RESERVATIONS, resources.APP_GROUPS}
MOST_LOGGED = 256
EVENT_NAMES = {
    "Namespace": "namespace",
    "Service": "service",
    "PodDisruptionBudget": "budget",
    "StorageClass": "storage-class",
    "PersistentVolume": "volume",
    "PersistentVolumeClaim": "claim",
    "Reservation": "reservation",
}


class LeftOut:
    """Objects that could not be taken in: counted by kind, and each is logged once."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._logged: set[tuple[str, str]] = set()

    def note(self, kind: str, key: str, error: Exception) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if (kind, key) in self._logged:
            return
        if len(self._logged) >= MOST_LOGGED:
            # A namespace full of such objects must not fill the log: from here on they are only counted.
            return
        self._logged.add((kind, key))
        # A sentence for what we foresaw; what we did not is a fault of our own and worth its traceback.
        unforeseen = None if isinstance(error, InputError) else error
        log.warning("%s %s is left out: %s", kind, key, str(error)[:500], exc_info=unforeseen)
        if len(self._logged) == MOST_LOGGED:
            log.warning("so many objects were left out that further ones are only counted")


class KindSink:
    """One kind's way into the store.

    Whoever may create a pod writes what he likes into it, and no object may end the stream for all the others: whatever
    is thrown while one is taken in concerns that one alone.
    """

    def __init__(self, kind: str, store: ObjectStore[LiveCache], left_out: LeftOut) -> None:
        self._kind = kind
        self._store = store
        self._cache = store.sink
        self._left_out = left_out
        self._event = EVENT_NAMES.get(kind)

    def upsert(self, item: Any) -> None:
        try:
            self._store.put(self._kind, item)
            if self._event is not None:
                self._cache.tell(self._event, "update", None, self._meaning(item.metadata))
        except Exception as error:
            self._left_out.note(self._kind, f"{item.metadata.namespace}/{item.metadata.name}".lstrip("/"), error)

    def _meaning(self, metadata: wire.Metadata) -> object:
        """What plugins' hints compare: the model's object where there is one."""
        if self._kind == "PersistentVolumeClaim":
            return self._cache.state.claims.get(f"{metadata.namespace}/{metadata.name}")
        if self._kind == "PersistentVolume":
            return self._cache.state.volumes.get(metadata.name)
        return metadata.name

    def remove(self, key: str, uid: str) -> None:  # noqa: ARG002 - the mirror's protocol
        try:
            self._store.drop(self._kind, key)
            if self._event is not None:
                self._cache.tell(self._event, "delete", key, None)
        except Exception as error:
            self._left_out.note(self._kind, key, error)

    def synced(self) -> None:
        return


class Feeds:
    """`trust_annotations`: measured keys are believed whoever may have written them."""

    def __init__(self, client: ApiClient, cache: LiveCache, *, silence: float, trust_annotations: bool = False) -> None:
        self._store = ObjectStore(cache)
        self.belief = Belief(client, trusted=trust_annotations)
        self._believing = asyncio.Event()
        self._left_out = LeftOut()
        self._first = [
            self._mirror(client, resource, silence, turn=self._knows_what_to_believe)
            for resource in resources.SURROUNDINGS
        ]
        self._nodes = self._mirror(client, resources.NODES, silence, turn=self._surroundings_are_there)
        self._pods = self._mirror(client, resources.PODS, silence, turn=self._nodes.wait_synced)
        self._synced = asyncio.Event()

    def _mirror(
        self, client: ApiClient, resource: Resource, silence: float, turn: Callable[[], Awaitable[None]] | None = None
    ) -> Reflector[Any]:
        sink = KindSink(resource.kind, self._store, self._left_out)
        shape = wire.KINDS[resource.kind].shape
        return Reflector(client, resource, shape, sink, silence=silence, optional=resource in OPTIONAL, turn=turn)

    async def _knows_what_to_believe(self) -> None:
        await self._believing.wait()

    def _believe(self) -> None:
        self._store.believes = self._store.sink.state.vouched = self.belief.holds
        self._believing.set()

    async def _keep_believing_right(self) -> None:
        """What is measured is taken in anew when belief in it comes or goes; in the order of the first time."""
        while True:
            await self.belief.changed()
            self._believe()
            for reflector in self.reflectors:
                await reflector.again()

    async def _surroundings_are_there(self) -> None:
        for reflector in self._first:
            await reflector.wait_synced()

    def convert(self, given: wire.Pod) -> Pod:
        """A pod that somebody else shows us, with its workload as the streams have told it."""
        return self._store.convert(given)

    @property
    def left_out(self) -> dict[str, int]:
        """How many times an object of each kind could not be read or taken in."""
        unread = {each.resource.kind: each.dropped for each in self.reflectors}
        return {kind: count + self._left_out.counts.get(kind, 0) for kind, count in unread.items()}

    @property
    def reflectors(self) -> list[Reflector[Any]]:
        return [*self._first, self._nodes, self._pods]

    async def run(self) -> None:
        """Mirrors for ever. All lists are asked for at once and taken in one after the other: first what pods and nodes
        refer to, then nodes, then pods, so that each is resolved once.
        """
        async with asyncio.TaskGroup() as group:
            for reflector in (self._nodes, self._pods, *self._first):
                group.create_task(reflector.run())
            await self.belief.settle()
            self._believe()
            await self._pods.wait_synced()
            self._synced.set()
            group.create_task(self._keep_believing_right())

    async def wait_synced(self) -> None:
        await self._synced.wait()

    async def resync(self) -> None:
        """A consistent list of nodes and pods that starts now: what a new leader must have seen."""
        await self._nodes.resync()
        await self._pods.resync()
