"""``ecotone serve extender``: the judge behind HTTP, fed by the same mirrors as the scheduler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import time
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, Counter, Histogram

from ecotone.kube.binding import Outcome, bind
from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.kubeconfig import Connection
from ecotone.manifests import wire
from ecotone.model.objects import Pod
from ecotone.model.state import ClusterState
from ecotone.scheduling.policies import resolve
from ecotone.services.endpoints import Endpoints
from ecotone.services.extender import Arguments, BindArguments, Judge, MetaVictims
from ecotone.services.feeds import Feeds
from ecotone.services.live_cache import LiveCache
from ecotone.services.running import run

log = logging.getLogger(__name__)


class ExtenderProgram:
    def __init__(self, connection: Connection, *, policy: str, listen: str, max_age: float) -> None:
        self._connection = connection
        self._listen = listen
        self._judge = Judge(resolve(policy))
        self.cache = LiveCache(ClusterState(now=time.time(), max_age=max_age))
        self._synced = False
        self._stopping = asyncio.Event()
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "ecotone_extender_requests", "Calls of kube-scheduler.", ["verb", "result"], registry=self.registry
        )
        self._seconds = Histogram(
            "ecotone_extender_request_duration_seconds", "Time to answer.", ["verb"], registry=self.registry
        )

    # The part of the scheduler that the feeds talk to

    def pod_seen(self, pod: Pod) -> None:
        self.cache.put_pod(pod)

    def pod_gone(self, key: str) -> None:
        self.cache.drop_pod(key)

    def stop(self) -> None:
        self._stopping.set()

    async def run(self) -> None:
        async with ApiClient(self._connection, user_agent="ecotone-extender") as client:
            feeds = Feeds(client, self, silence=150)
            endpoints = Endpoints(self.registry, ready=lambda: None if self._synced else "the cache is not filled yet")
            for verb, answer in (
                ("filter", self._filter),
                ("prioritize", self._prioritize),
                ("preempt", self._preempt),
            ):
                endpoints.post(f"/{verb}", self._handler(verb, feeds, answer))
            endpoints.post("/bind", self._binder(client))
            await endpoints.start(self._listen)
            feeding = asyncio.create_task(feeds.run())
            stopping = asyncio.create_task(self._stopping.wait())
            try:
                synced = asyncio.create_task(feeds.wait_synced())
                await asyncio.wait({synced, stopping, feeding}, return_when=asyncio.FIRST_COMPLETED)
                self._synced = synced.done()
                await asyncio.wait({stopping, feeding}, return_when=asyncio.FIRST_COMPLETED)
                if feeding.done():
                    feeding.result()
            finally:
                for task in (feeding, stopping, synced):
                    task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.gather(feeding, return_exceptions=True)
                await endpoints.stop()

    def _handler(
        self, verb: str, feeds: Feeds, answer: Callable[[Arguments, Pod], Any]
    ) -> Callable[[web.Request], Any]:
        async def handle(request: web.Request) -> web.StreamResponse:
            started = time.perf_counter()
            try:
                arguments = msgspec.json.decode(await request.read(), type=Arguments)
                pod = feeds.convert(msgspec.json.decode(arguments.pod, type=wire.Pod))
            except msgspec.MsgspecError as error:
                self._calls.labels(verb, "bad request").inc()
                return web.json_response({"Error": f"not understood: {error}"}, status=400)
            body = answer(arguments, pod)
            self._calls.labels(verb, "ok").inc()
            self._seconds.labels(verb).observe(time.perf_counter() - started)
            return web.json_response(body)

        return handle

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
            try:
                wanted = msgspec.json.decode(await request.read(), type=BindArguments)
            except msgspec.MsgspecError as error:
                return web.json_response({"Error": f"not understood: {error}"}, status=400)
            try:
                result = await bind(
                    client, namespace=wanted.namespace, name=wanted.name, uid=wanted.uid, node=wanted.node, timeout=5
                )
            except (ApiError, UnreachableError) as error:
                self._calls.labels("bind", "error").inc()
                return web.json_response({"Error": str(error)})
            good = result.outcome is Outcome.BOUND
            self._calls.labels("bind", result.outcome.value).inc()
            return web.json_response({"Error": "" if good else f"{result.outcome.value}: {result.detail}"})

        return handle


def serve(connection: Connection, *, policy: str, listen: str, max_age: float) -> None:
    """Answers until SIGTERM or SIGINT."""

    async def main() -> None:
        program = ExtenderProgram(connection, policy=policy, listen=listen, max_age=max_age)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, program.stop)
        await program.run()

    run(main())
