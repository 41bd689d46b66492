"""``ecotone serve extender``: the judge behind HTTP, fed by the same mirrors as the scheduler.

Questions (filter, prioritize, preempt) change nothing and are answered to whoever can reach the port; the printed
NetworkPolicy says who that is. Binding changes the cluster, so the route exists only if the operator asks for it, and
only for callers that prove who they are: by a client certificate, which kube-scheduler can present, or by a token.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram

from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.resources import is_label, is_subdomain
from ecotone.kube.writing.binding import Outcome, bind
from ecotone.manifests import wire
from ecotone.model.errors import InputError
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services import lifecycle
from ecotone.services.endpoints import Endpoints
from ecotone.services.extender.extender import Arguments, BindArguments, Judge, MetaVictims
from ecotone.services.extender.settings import ExtenderSettings
from ecotone.services.feeds import Feeds
from ecotone.services.http.bodies import Bodies
from ecotone.services.http.callers import bearer_token
from ecotone.services.http.descriptors import called, raise_limit
from ecotone.services.live_cache import LiveCache
from ecotone.services.running import background, first

log = logging.getLogger(__name__)

CONNECTIONS = 64
BIND_SECONDS = 5.0


class ExtenderProgram:
    def __init__(self, connection: Connection, settings: ExtenderSettings) -> None:
        self._connection = connection
        self._settings = settings
        self._judge = Judge(resolve(settings.policy))
        self.cache = LiveCache(ClusterState(now=time.time(), max_age=settings.max_age))
        self._bodies = Bodies()
        self._synced = False
        self._stopping = asyncio.Event()
        self._told: dict[str, int] = {}
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "ecotone_extender_requests", "Calls of kube-scheduler.", ["verb", "result"], registry=self.registry
        )
        self._seconds = Histogram(
            "ecotone_extender_request_duration_seconds", "Time to answer.", ["verb"], registry=self.registry
        )

        self._left_out = Counter(
            "ecotone_extender_objects_left_out",
            "Times an object could not be read or taken in, and was left out.",
            ["type"],
            registry=self.registry,
        )

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        connections = called(raise_limit(), wanted=CONNECTIONS)
        async with ApiClient(self._connection, user_agent="ecotone-extender", connections=connections) as client:
            feeds = Feeds(client, self.cache, silence=150, trust_annotations=self._settings.trust_annotations)
            endpoints = self._endpoints(client, feeds)
            await endpoints.start(self._settings.listen)
            try:
                async with background(feeds.run()):
                    stopping = asyncio.ensure_future(self._stopping.wait())
                    await first(stopping, feeds.wait_synced())
                    self._synced = True
                    await stopping
            finally:
                await endpoints.stop()

    def _count(self, feeds: Feeds) -> None:
        for kind, count in feeds.left_out.items():
            self._left_out.labels(kind).inc(max(count - self._told.get(kind, 0), 0))
            self._told[kind] = count

    def _endpoints(self, client: ApiClient, feeds: Feeds) -> Endpoints:
        settings = self._settings
        endpoints = Endpoints(
            self.registry,
            ready=lambda: None if self._synced else "the cache is not filled yet",
            refresh=lambda: self._count(feeds),
            allowed_hosts=settings.allowed_hosts,
            tls=settings.tls(),
        )
        for verb, answer in (("filter", self._filter), ("prioritize", self._prioritize), ("preempt", self._preempt)):
            endpoints.post(f"/{verb}", self._handler(verb, feeds, answer))
        if settings.allow_bind:
            endpoints.post("/bind", self._binder(client))
        return endpoints

    def _handler(
        self, verb: str, feeds: Feeds, answer: Callable[[Arguments, Pod], Any]
    ) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            started = time.perf_counter()
            try:
                async with self._bodies.json(request) as content:
                    arguments = msgspec.json.decode(content, type=Arguments)
                    arguments.check()
                    pod = feeds.convert(msgspec.json.decode(arguments.pod, type=wire.Pod))
                    body = answer(arguments, pod)
            except (msgspec.MsgspecError, InputError, UnicodeDecodeError, RecursionError) as error:
                return self._not_understood(verb, error)
            self._calls.labels(verb, "ok").inc()
            self._seconds.labels(verb).observe(time.perf_counter() - started)
            return web.json_response(body)

        return handle

    def _not_understood(self, verb: str, error: Exception) -> web.Response:
        self._calls.labels(verb, "bad request").inc()
        return web.json_response({"Error": f"not understood: {error}"}, status=400)

    def _filter(self, arguments: Arguments, pod: Pod) -> dict[str, Any]:
        names = arguments.names()
        stay, failed = self._judge.filter(self.cache.view(time.time()), pod, names)
        answer: dict[str, Any] = {"FailedNodes": failed, "FailedAndUnresolvableNodes": {}, "Error": ""}
        if arguments.node_names is not None:
            return {**answer, "Nodes": None, "NodeNames": stay}
        kept = set(stay)
        items = [node for node in (arguments.nodes.items if arguments.nodes else []) if node.name in kept]
        return {**answer, "Nodes": {"items": msgspec.to_builtins(items)}, "NodeNames": None}

    def _prioritize(self, arguments: Arguments, pod: Pod) -> list[dict[str, Any]]:
        scores = self._judge.scores(self.cache.view(time.time()), pod, arguments.names())
        return [{"Host": name, "Score": score} for name, score in scores.items()]

    def _preempt(self, arguments: Arguments, pod: Pod) -> dict[str, Any]:
        """Every candidate that our own filters accept stays, with kube-scheduler's victims."""
        candidates = arguments.meta_victims
        if candidates is None:
            candidates = {}
            for node, victims in (arguments.victims or {}).items():
                uids = [{"UID": str(one.metadata.get("uid", ""))} for one in victims.pods]
                body = {"Pods": uids, "NumPDBViolations": victims.num_pdb_violations}
                candidates[node] = msgspec.convert(body, type=MetaVictims)
        stay, _ = self._judge.filter(self.cache.view(time.time()), pod, list(candidates))
        return {"NodeNameToMetaVictims": {name: msgspec.to_builtins(candidates[name]) for name in stay}}

    def _binder(self, client: ApiClient) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            if not self._may_bind(request):
                self._calls.labels("bind", "forbidden").inc()
                return web.json_response({"Error": "a client certificate or a token is needed"}, status=403)
            try:
                async with self._bodies.json(request) as content:
                    wanted = _checked(msgspec.json.decode(content, type=BindArguments))
            except (msgspec.MsgspecError, InputError, UnicodeDecodeError) as error:
                return self._not_understood("bind", error)
            try:
                result = await bind(
                    client,
                    namespace=wanted.namespace,
                    name=wanted.name,
                    uid=wanted.uid,
                    node=wanted.node,
                    timeout=BIND_SECONDS,
                )
            except (ApiError, UnreachableError) as error:
                self._calls.labels("bind", "error").inc()
                return web.json_response({"Error": str(error)})
            good = result.outcome is Outcome.BOUND
            self._calls.labels("bind", result.outcome.value).inc()
            return web.json_response({"Error": "" if good else f"{result.outcome.value}: {result.detail}"})

        return handle

    def _may_bind(self, request: web.Request) -> bool:
        transport = request.transport if self._settings.client_ca is not None else None
        # The TLS layer has verified it: an unknown or expired one does not get this far.
        if transport is not None and transport.get_extra_info("peercert"):
            return True
        expected, given = self._settings.bind_token, bearer_token(request)
        return expected is not None and given is not None and hmac.compare_digest(given.encode(), expected.encode())


def _checked(wanted: BindArguments) -> BindArguments:
    """Every name before it becomes part of a path or of a Binding."""
    if not is_label(wanted.namespace) or not is_subdomain(wanted.name) or not is_subdomain(wanted.node):
        raise InputError("PodNamespace, PodName and Node must be names as Kubernetes has them (DNS-1123)")
    if not 0 < len(wanted.uid) <= 128 or not wanted.uid.isprintable():
        raise InputError("PodUID is needed: the name alone may be another pod's by now")
    return wanted


def serve(connection: Connection, settings: ExtenderSettings) -> None:
    """Answers until SIGTERM or SIGINT."""
    lifecycle.serve(lambda: ExtenderProgram(connection, settings))
