"""Starting a scheduler: the API server is asked for its lists while the program that reads them is still being loaded.

Loading numpy, the model and the plugins takes as long as an API server needs for the lists of a large cluster, and on
another core. So the event loop and a client come first, with as little as they need; the lists are on their way while a
thread loads the rest; and the mirrors find their first answers waiting for them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ecotone.kube.client import ApiClient
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.reading.reflector import ask_ahead
from ecotone.kube.resources import NODES, PODS, SURROUNDINGS
from ecotone.services import lifecycle
from ecotone.services.http.descriptors import called, raise_limit
from ecotone.services.running import beside_the_loop, put_off_collection, quick_turns

if TYPE_CHECKING:
    from ecotone.services.scheduler.program import SchedulerProgram
    from ecotone.services.scheduler.settings import SchedulerSettings

REVIEW_CONNECTIONS = 2
LEASE_CONNECTIONS = 2
BESIDE_BINDINGS = 32
"""Connections for mirrors and events."""


def open_client(connection: Connection, *, identity: str, bindings: int) -> ApiClient:
    """A client for mirrors, events and so many bindings at a time; what it may open is shared with those beside it."""
    descriptors = raise_limit() - LEASE_CONNECTIONS - REVIEW_CONNECTIONS
    connections = called(descriptors, wanted=bindings + BESIDE_BINDINGS)
    return ApiClient(connection, user_agent=f"ecotone-scheduler/{identity}", connections=connections)


class SchedulerStart:
    """A program that becomes the scheduler as soon as ``load`` has its settings."""

    def __init__(
        self,
        connection: Connection,
        load: Callable[[], SchedulerSettings],
        *,
        identity: str,
        bindings: int,
        listen: str | None,
    ) -> None:
        self._connection = connection
        self._load = load
        self._identity = identity
        self._bindings = bindings
        self._listen = listen
        self._stopped = False
        self._program: SchedulerProgram | None = None

    def stop(self) -> None:
        self._stopped = True
        if self._program is not None:
            self._program.stop()

    async def run(self) -> None:
        async with open_client(self._connection, identity=self._identity, bindings=self._bindings) as client:
            ask_ahead(client, (NODES, PODS, *SURROUNDINGS))
            with quick_turns():
                settings = await beside_the_loop(self._load_all)
            if self._stopped:
                return
            from ecotone.services.scheduler.program import SchedulerProgram

            self._program = SchedulerProgram(self._connection, settings, listen=self._listen, client=client)
            await self._program.run()

    def _load_all(self) -> SchedulerSettings:
        settings = self._load()
        # Its plugins and everything that surrounds them; the program finds them loaded.
        import_module("ecotone.services.scheduler.program")
        from ecotone.services.scheduler.settings import frameworks_of

        frameworks_of(settings.profiles)
        return settings


def serve(
    connection: Connection,
    load: Callable[[], SchedulerSettings],
    *,
    identity: str,
    bindings: int,
    listen: str | None,
) -> None:
    """Runs a scheduler until SIGTERM or SIGINT."""
    put_off_collection()
    lifecycle.serve(lambda: SchedulerStart(connection, load, identity=identity, bindings=bindings, listen=listen))
