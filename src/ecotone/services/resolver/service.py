"""The Placement Resolver: whole-application placement as a small REST service (Pogonip, section VI-B).

A scheduler, a pipeline or a person posts applications and an infrastructure and gets a placement. The event loop only
reads, checks shapes and waits; solving happens in worker processes (`jobs`). A request that is answered
within a few seconds gets its answer directly; any other gets a job to ask for. Nothing a client sends can do more
than fail its own request: bodies and problems are bounded, jobs are bounded in number, time and memory. Of the
connections (`services.http`) at most half wait for a job, so that there is always one for a short question.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import choose_encoder

from ecotone.services import lifecycle
from ecotone.services.http.bodies import Bodies
from ecotone.services.http.descriptors import raise_limit
from ecotone.services.http.server import HttpServer
from ecotone.services.resolver.api import BODY_LIMIT, PlacementRequest, Problem
from ecotone.services.resolver.jobs import Entry, JobLimits, Jobs, QueueFullError
from ecotone.services.resolver.openapi import JSON, document

log = logging.getLogger(__name__)

CONNECTIONS = 128
BODY_SECONDS = 15.0
BODIES_BUDGET = 64 << 20
CODE_OF_STATUS = {408: "slow", 413: "too-large", 415: "not-json", 503: "busy"}
STATUS_OF_PROBLEM = {"invalid": 422, "too-large": 413, "internal": 500}
OPEN_PATHS = frozenset({"/healthz", "/livez", "/readyz", "/metrics", "/v1/openapi.json"})


@dataclass(frozen=True, slots=True)
class ResolverSettings:
    """`wait` is how long a request may hold its connection before it becomes a job; `token` guards all but health."""

    limits: JobLimits = field(default_factory=JobLimits)
    wait: float = 15.0
    token: str | None = None


class Resolver:
    def __init__(self, settings: ResolverSettings | None = None) -> None:
        self.settings = settings or ResolverSettings()
        self.jobs = Jobs(self.settings.limits)
        self._bodies = Bodies(limit=BODY_LIMIT, budget=BODIES_BUDGET, seconds=BODY_SECONDS)
        self._decoding = asyncio.Lock()
        self._connections = max(8, min(CONNECTIONS, raise_limit() // 4))
        self._holding = 0
        self._decoder = msgspec.json.Decoder(PlacementRequest)
        self._document = msgspec.json.encode(document(_version()))
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "ecotone_resolver_requests", "Placement requests by outcome.", ["status"], registry=self._registry
        )
        self._waiting = Gauge("ecotone_resolver_jobs_waiting", "Jobs that wait for a worker.", registry=self._registry)
        self.app = web.Application(client_max_size=BODY_LIMIT, middlewares=[self._guard])
        self.app.router.add_post("/v1/placements", self._place)
        self.app.router.add_get("/v1/jobs/{id}", self._job, allow_head=False)
        self.app.router.add_delete("/v1/jobs/{id}", self._cancel)
        self.app.router.add_get("/v1/openapi.json", self._openapi)
        self.app.router.add_get("/metrics", self._metrics)
        for path in ("/healthz", "/livez", "/readyz"):
            self.app.router.add_get(path, self._healthy)
        self.app.on_startup.append(self._start)
        self.server = HttpServer(self.app, limit=self._connections)
        # Before requests under way are given up: those who wait for a job are answered with its end.
        self.app.on_shutdown.append(self._stop)

    async def _start(self, _: web.Application) -> None:
        await self.jobs.start()

    async def _stop(self, _: web.Application) -> None:
        await self.jobs.stop()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Every refusal is a Problem, also those of the server itself; a token is asked for where one is set."""
        if self.settings.token is not None and request.path not in OPEN_PATHS:
            scheme, _, given = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(_raw(given), _raw(self.settings.token)):
                return _problem(401, "unauthorised", "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
        try:
            response: web.StreamResponse = await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return _problem(413, "too-large", f"a request may have {BODY_LIMIT} bytes")
        except web.HTTPException as error:
            if error.status < 400:
                raise
            kept = {name: value for name, value in error.headers.items() if name in ("Allow", "Retry-After")}
            code = CODE_OF_STATUS.get(error.status, "refused")
            return _problem(error.status, code, error.text or error.reason, kept)
        return response

    async def _place(self, request: web.Request) -> web.StreamResponse:
        response = await self._answer(request)
        self._requests.labels(str(response.status)).inc()
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            async with self._bodies.json(request) as body:
                async with self._decoding:  # one at a time, so that others get their turn in between
                    asked = self._decoder.decode(body)
                    await asyncio.sleep(0)
                entry = self.jobs.submit(asked, body)
        except msgspec.ValidationError as error:
            return _problem(400, "malformed", str(error))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _problem(400, "malformed", f"not JSON: {error}")
        except QueueFullError:
            return _problem(503, "busy", "too many jobs are waiting", {"Retry-After": "5"})
        if not asked.asynchronous and self._holding < self._connections // 2:
            await self._hold(entry)
        return self._outcome(entry)

    async def _hold(self, entry: Entry) -> None:
        """Waits a while for a job's end, with the client."""
        self._holding += 1
        try:
            async with asyncio.timeout(self.settings.wait):
                await entry.finished.wait()
        except TimeoutError:
            pass
        finally:
            self._holding -= 1

    def _outcome(self, entry: Entry) -> web.Response:
        if entry.answer is not None:
            return web.Response(body=entry.answer, content_type=JSON)
        if entry.error is not None:
            status = STATUS_OF_PROBLEM.get(entry.error.code, 503)
            return _problem(
                status, entry.error.code, entry.error.message, {"Retry-After": "1"} if status == 503 else {}
            )
        return _json(202, entry.shown(), {"Location": f"/v1/jobs/{entry.id}"})

    async def _job(self, request: web.Request) -> web.StreamResponse:
        entry = self.jobs.find(request.match_info["id"])
        return _problem(404, "unknown", "no such job") if entry is None else _json(200, entry.shown())

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        entry = self.jobs.find(request.match_info["id"])
        if entry is None:
            return _problem(404, "unknown", "no such job")
        await self.jobs.cancel(entry)
        return _json(200, entry.shown())

    async def _openapi(self, _: web.Request) -> web.StreamResponse:
        return web.Response(body=self._document, content_type=JSON)

    async def _metrics(self, request: web.Request) -> web.StreamResponse:
        self._waiting.set(self.jobs.waiting)
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return web.Response(body=encode(self._registry), headers={"Content-Type": content_type})

    async def _healthy(self, _: web.Request) -> web.StreamResponse:
        return web.Response(text="ok")


def _json(status: int, value: Any, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(value), content_type=JSON, headers=headers)


def _problem(status: int, code: str, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return _json(status, Problem(code=code, message=message), headers)


def _raw(text: str) -> bytes:
    """Header values as they came: bytes that are no UTF-8 are kept, not refused with a traceback."""
    return text.encode("utf-8", "surrogateescape")


def _version() -> str:
    try:
        return version("ecotone")
    except PackageNotFoundError:
        return "0"


class ResolverProgram:
    """The resolver as a long-running program (`lifecycle.Program`)."""

    def __init__(self, settings: ResolverSettings, *, listen: str) -> None:
        self._resolver = Resolver(settings)
        self._listen = listen
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        server = self._resolver.server
        await server.start(self._listen)
        try:
            host, port = server.address or ("", 0)
            log.info(
                "listening on http://%s:%d (contract: /v1/openapi.json)", f"[{host}]" if ":" in host else host, port
            )
            await self._stopping.wait()
        finally:
            await server.stop()


def serve(settings: ResolverSettings, *, listen: str) -> None:
    """Runs until SIGTERM or SIGINT."""
    lifecycle.serve(lambda: ResolverProgram(settings, listen=listen))
