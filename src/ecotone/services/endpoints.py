"""The HTTP side of every service: ``/metrics``, ``/healthz``, ``/readyz``, and whatever the service adds.

Liveness means the event loop turns; readiness means the service says so (caches filled). Reading decisions reveals
names of workloads, so a route can demand that the caller is on loopback or carries a token the API server vouches for.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS
from ecotone.model.errors import InputError

BODY_LIMIT = 64 << 20
REVIEW_SECONDS = 30.0

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def parse_listen(text: str) -> tuple[str, int]:
    """``ADDRESS:PORT``; an IPv6 address in brackets."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise InputError(f"--listen {text}: ADDRESS:PORT is expected", hint="for example 127.0.0.1:10259")
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - an empty address means every one, as asked


class Endpoints:
    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        ready: Callable[[], str | None],
        refresh: Callable[[], None] | None = None,
    ) -> None:
        """``ready`` returns None, or why not; ``refresh`` sets gauges just before they are read."""
        self._registry = registry
        self._ready = ready
        self._refresh = refresh
        self._app = web.Application(client_max_size=BODY_LIMIT)
        self._stack = AsyncExitStack()
        self.address: tuple[str, int] | None = None
        self.get("/metrics", self._metrics)
        self.get("/healthz", self._healthz)
        self.get("/livez", self._healthz)
        self.get("/readyz", self._readyz)

    def get(self, path: str, handler: Handler) -> None:
        self._app.router.add_get(path, handler)

    def post(self, path: str, handler: Handler) -> None:
        self._app.router.add_post(path, handler)

    async def start(self, listen: str) -> None:
        host, port = parse_listen(listen)
        runner = web.AppRunner(self._app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        self._stack.push_async_callback(runner.cleanup)
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            await self._stack.aclose()
            raise InputError(f"cannot listen on {listen}: {error.strerror}") from None
        self.address = runner.addresses[0][:2]

    async def stop(self) -> None:
        await self._stack.aclose()

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        if self._refresh is not None:
            self._refresh()
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": content_type})

    async def _healthz(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text="ok")

    async def _readyz(self, _: web.Request) -> web.StreamResponse:
        reason = self._ready()
        return web.Response(text="ok") if reason is None else web.Response(text=reason, status=503)


class _User(msgspec.Struct):
    username: str = ""
    groups: list[str] = []


class _ReviewStatus(msgspec.Struct):
    authenticated: bool = False
    allowed: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    status: _ReviewStatus


class Authoriser:
    """Lets a caller in from loopback, or with a token whose owner may read the pods of that namespace."""

    def __init__(self, client: ApiClient, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[float, bool]] = {}

    async def allowed(self, request: web.Request, *, namespace: str) -> bool:
        if request.remote is not None and ipaddress.ip_address(request.remote.split("%")[0]).is_loopback:
            return True
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            return False
        key = (token, namespace)
        known = self._known.get(key)
        if known is None or self._clock() - known[0] > REVIEW_SECONDS:
            if len(self._known) > 1_000:
                self._known.clear()
            known = (self._clock(), await self._review(token, namespace))
            self._known[key] = known
        return known[1]

    async def _review(self, token: str, namespace: str) -> bool:
        try:
            answer = await self._client.create(
                TOKEN_REVIEWS,
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}},
            )
            status = msgspec.json.decode(answer, type=_Review).status
            if not status.authenticated:
                return False
            access = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": status.user.username,
                    "groups": status.user.groups,
                    "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "pods"},
                },
            }
            answer = await self._client.create(SUBJECT_ACCESS_REVIEWS, access)
            return msgspec.json.decode(answer, type=_Review).status.allowed
        except (ApiError, UnreachableError):
            return False
