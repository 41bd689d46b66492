"""The Placement Resolver: whole-application placement as a small REST service (Pogonip, section VI-B).

A scheduler, a pipeline or a person posts applications and an infrastructure and gets a placement. The event loop only
reads, checks shapes and waits; solving happens in worker processes (`resolver_jobs`). A request that is answered
within a few seconds gets its answer directly; any other gets a job to ask for. Nothing a client sends can do more
than fail its own request: bodies and problems are bounded, jobs are bounded in number, time and memory.
"""

from __future__ import annotations

import asyncio
import hmac
import signal
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.exposition import choose_encoder

from ecotone.services.endpoints import parse_listen
from ecotone.services.resolver_api import BODY_LIMIT, PlacementRequest, Problem
from ecotone.services.resolver_jobs import Entry, JobLimits, Jobs, QueueFullError
from ecotone.services.resolver_openapi import JSON, document
from ecotone.services.running import run

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
        self.app.cleanup_ctx.append(self._lifetime)

    async def _lifetime(self, _: web.Application) -> Any:
        await self.jobs.start()
        yield
        await self.jobs.stop()

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Every refusal is a Problem, also those of the server itself; a token is asked for where one is set."""
        if self.settings.token is not None and request.path not in OPEN_PATHS:
            scheme, _, given = request.headers.get("Authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not hmac.compare_digest(given.encode(), self.settings.token.encode()):
                return _problem(401, "unauthorised", "a bearer token is needed", {"WWW-Authenticate": "Bearer"})
        try:
            response: web.StreamResponse = await handler(request)
        except web.HTTPRequestEntityTooLarge:
            return _problem(413, "too-large", f"a request may have {BODY_LIMIT} bytes")
        except web.HTTPException as error:
            if error.status < 400:
                raise
            kept = {name: value for name, value in error.headers.items() if name == "Allow"}
            return _problem(error.status, "refused", error.reason, kept)
        return response

    async def _place(self, request: web.Request) -> web.StreamResponse:
        response = await self._answer(request)
        self._requests.labels(str(response.status)).inc()
        return response

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if request.content_type != JSON:
            return _problem(415, "not-json", f"Content-Type must be {JSON}")
        try:
            asked = self._decoder.decode(await request.read())
        except msgspec.ValidationError as error:
            return _problem(400, "malformed", str(error))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _problem(400, "malformed", f"not JSON: {error}")
        try:
            entry = self.jobs.submit(asked)
        except QueueFullError:
            return _problem(503, "busy", "too many jobs are waiting", {"Retry-After": "5"})
        if not asked.asynchronous:
            try:
                async with asyncio.timeout(self.settings.wait):
                    await entry.finished.wait()
            except TimeoutError:
                pass
        return self._outcome(entry)

    def _outcome(self, entry: Entry) -> web.Response:
        if entry.answer is not None:
            return _json(200, entry.answer)
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


def _version() -> str:
    try:
        return version("ecotone")
    except PackageNotFoundError:
        return "0"


def serve(settings: ResolverSettings, *, listen: str) -> None:
    """Runs until SIGTERM or SIGINT."""
    run(_serve(settings, listen))


async def _serve(settings: ResolverSettings, listen: str) -> None:
    host, port = parse_listen(listen)
    runner = web.AppRunner(Resolver(settings).app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        over = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        await over.wait()
    finally:
        await runner.cleanup()
