"""A proxy between a program and the API server that does what networks do: fail, stall, cut, lose answers.

It speaks plain HTTP on loopback to the program and verified TLS to the API server, and runs in a thread of its own. A
fault is a function from a request to what should go wrong with it; the first that has an opinion wins.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from control_plane.cluster import Cluster


class Fault(Enum):
    REFUSE_500 = 500
    REFUSE_409 = 409
    REFUSE_429 = 429
    LOSE_ANSWER = "the request is carried out, its answer is lost"
    LOSE_REQUEST = "the request never arrives, nor does an answer"
    GONE = 410


Judge = Callable[[web.Request], Fault | None]
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "injected"}


class FaultyProxy:
    def __init__(self, cluster: Cluster, directory: Path, *, kubeconfig: Path | None = None) -> None:
        self._cluster = cluster
        self._tls = ssl.create_default_context(cafile=str(cluster.directory / "certs" / "apiserver.crt"))
        self.judges: list[Judge] = []
        self.faults = 0
        self._streams: set[asyncio.Task[Any]] = set()
        self._stalled = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = self._call(self._start())
        config = yaml.safe_load((kubeconfig or cluster.kubeconfig).read_text())
        config["clusters"][0]["cluster"] = {"server": f"http://127.0.0.1:{self.port}"}
        self.kubeconfig = directory / "proxied-kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump(config))

    def _call(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    async def _start(self) -> int:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=self._tls), auto_decompress=False
        )
        application = web.Application(client_max_size=1 << 26)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return int(self._runner.addresses[0][1])

    def stop(self) -> None:
        async def end() -> None:
            await self._session.close()
            await self._runner.cleanup()
            # Handlers that wait for ever, as faults make them, end here.
            waiting = asyncio.all_tasks() - {asyncio.current_task()}
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

        self._call(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def cut_watches(self) -> None:
        """Every open watch breaks off."""

        async def cut() -> None:
            for task in list(self._streams):
                task.cancel()

        self._call(cut())

    def stall_watches(self, stalled: bool) -> None:
        """Open watches stay open and say nothing."""
        self._stalled = stalled

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        fault = next((found for judge in self.judges if (found := judge(request)) is not None), None)
        if fault is not None:
            self.faults += 1
        if fault in (Fault.REFUSE_500, Fault.REFUSE_409, Fault.REFUSE_429, Fault.GONE):
            return web.json_response({**STATUS, "code": fault.value}, status=fault.value)
        if fault is Fault.LOSE_REQUEST:
            await asyncio.sleep(3600)
        headers = {
            key: value
            for key, value in request.headers.items()
            if key in ("Authorization", "Content-Type", "Accept", "User-Agent")
        }
        target = self._cluster.server + request.path_qs
        try:
            async with self._session.request(request.method, target, data=body or None, headers=headers) as answer:
                if fault is Fault.LOSE_ANSWER:
                    await answer.read()
                    await asyncio.sleep(3600)
                if "watch" in request.query:
                    return await self._stream(request, answer)
                return web.Response(
                    body=await answer.read(), status=answer.status, headers={"Content-Type": "application/json"}
                )
        except aiohttp.ClientError:
            raise web.HTTPBadGateway from None

    async def _stream(self, request: web.Request, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        task = asyncio.ensure_future(self._pump(answer, response))
        self._streams.add(task)
        try:
            await task
        except (asyncio.CancelledError, aiohttp.ClientError, ConnectionError):
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._streams.discard(task)
        return response

    async def _pump(self, answer: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        async for chunk in answer.content.iter_any():
            if self._stalled:
                await asyncio.sleep(3600)
            await response.write(chunk)
