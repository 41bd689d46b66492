"""The HTTP side of every service: ``/metrics``, ``/healthz``, ``/readyz``, and whatever the service adds.

Liveness means that every part that must turn does (``health``); readiness means the service says so (caches filled).
How a port is kept open for those who behave is the business of ``services.http``.
"""

from __future__ import annotations

import hmac
import ssl
from collections.abc import Awaitable, Callable, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from ecotone.services.health import Health
from ecotone.services.http.bodies import LIMIT
from ecotone.services.http.callers import bearer_token
from ecotone.services.http.server import HttpServer, parse_listen
from ecotone.services.nameless import Nameless

__all__ = ["Endpoints", "Handler", "parse_listen"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Endpoints:
    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        ready: Callable[[], str | None],
        health: Health | None = None,
        refresh: Callable[[], None] | None = None,
        allowed_hosts: Sequence[str] = (),
        tls: ssl.SSLContext | None = None,
        names_for: str | None = None,
    ) -> None:
        """``ready`` returns None, or why not; ``refresh`` sets gauges just before they are read.

        ``names_for``: the token of those who read metrics with tenants' names; all others get them without.
        """
        self._registry = registry
        self._ready = ready
        self._health = health or Health()
        self._refresh = refresh
        self._names_for = names_for
        self._app = web.Application(client_max_size=LIMIT)
        self._server = HttpServer(self._app, allowed_hosts=allowed_hosts, tls=tls)
        self.get("/metrics", self._metrics)
        self.get("/healthz", self._healthz)
        self.get("/livez", self._healthz)
        self.get("/readyz", self._readyz)

    def get(self, path: str, handler: Handler) -> None:
        self._app.router.add_get(path, handler)

    def post(self, path: str, handler: Handler) -> None:
        self._app.router.add_post(path, handler)

    @property
    def address(self) -> tuple[str, int] | None:
        return self._server.address

    async def start(self, listen: str) -> None:
        await self._server.start(listen)

    async def stop(self) -> None:
        await self._server.stop()

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        if self._refresh is not None:
            self._refresh()
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        figures = self._registry if self._may_read_names(request) else Nameless(self._registry)
        return web.Response(body=encode(figures), headers={"Content-Type": content_type})

    def _may_read_names(self, request: web.Request) -> bool:
        """A token that is not the one is refused, so that whoever sends it notices; where none is set, nobody asks."""
        token = bearer_token(request)
        if token is None or self._names_for is None:
            return False
        if not hmac.compare_digest(token.encode(), self._names_for.encode()):
            raise web.HTTPUnauthorized(text="this is not the token for metrics")
        return True

    async def _healthz(self, _: web.Request) -> web.StreamResponse:
        return _answer(self._health.complaint())

    async def _readyz(self, _: web.Request) -> web.StreamResponse:
        return _answer(self._ready())


def _answer(complaint: str | None) -> web.Response:
    return web.Response(text="ok") if complaint is None else web.Response(text=complaint, status=503)
