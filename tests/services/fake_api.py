"""An API server in memory, good enough for our programs: lists, watches, versions, leases, bindings, evictions.

It knows no admission, no controllers and no quotas; what is tested against it is our side of the conversation. Requests
of one client (told apart by its User-Agent) can be held back, answered late or refused, which a real server cannot be
asked to do so exactly.
"""

from __future__ import annotations

import asyncio
import copy
import itertools
import json
import time
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from ecotone.kube.kubeconfig import Connection
from ecotone.manifests import figures_policy

Object = dict[str, Any]


class FakeApi:
    def __init__(self) -> None:
        self.objects: dict[str, dict[tuple[str, str], Object]] = defaultdict(dict)
        self.requests: list[tuple[str, str, str]] = []
        self.evictions: list[str] = []
        self.address = ""
        self.late: Callable[[web.Request], float] = lambda _: 0.0
        """Seconds by which the answer (not the effect) of a request is late."""
        self.held: Callable[[web.Request], bool] = lambda _: False
        """True while requests of this kind get no answer and have no effect."""
        self.refused: Callable[[web.Request], tuple[int, Object] | None] = lambda _: None
        self._version = itertools.count(1)
        self._log: dict[str, list[tuple[int, Object]]] = defaultdict(list)
        self._changed = asyncio.Condition()

    def connection(self) -> Connection:
        return Connection(server=self.address)

    # What a test does without HTTP

    async def put(self, plural: str, item: Object) -> Object:
        """Creates or replaces; namespaced objects name their namespace."""
        return await self._store(plural, copy.deepcopy(item))

    async def remove(self, plural: str, name: str, namespace: str = "") -> None:
        await self._drop(plural, (namespace, name))

    def find(self, plural: str, name: str, namespace: str = "") -> Object | None:
        return self.objects[plural].get((namespace, name))

    def all(self, plural: str) -> list[Object]:
        return list(self.objects[plural].values())

    # The server

    async def _store(self, plural: str, item: Object) -> Object:
        metadata = item.setdefault("metadata", {})
        key = (metadata.get("namespace", ""), metadata["name"])
        kind = "MODIFIED" if key in self.objects[plural] else "ADDED"
        metadata.setdefault("uid", str(uuid.uuid4()))
        metadata.setdefault("creationTimestamp", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        version = next(self._version)
        metadata["resourceVersion"] = str(version)
        self.objects[plural][key] = item
        await self._announce(plural, version, {"type": kind, "object": copy.deepcopy(item)})
        return item

    async def _drop(self, plural: str, key: tuple[str, str]) -> None:
        item = self.objects[plural].pop(key, None)
        if item is not None:
            version = next(self._version)
            gone = copy.deepcopy(item)
            gone["metadata"]["resourceVersion"] = str(version)
            await self._announce(plural, version, {"type": "DELETED", "object": gone})

    async def _announce(self, plural: str, version: int, event: Object) -> None:
        async with self._changed:
            self._log[plural].append((version, event))
            self._changed.notify_all()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.requests.append((request.method, request.path, request.headers.get("User-Agent", "")))
        while self.held(request):
            await asyncio.sleep(0.05)
        body = await request.read()
        refusal = self.refused(request)
        if refusal is not None:
            return web.json_response(refusal[1], status=refusal[0])
        given = json.loads(body) if body else None
        if "dryRun" in request.query:
            return web.json_response(given or {}, status=201)
        answer = await self._answer(request, given)
        delay = self.late(request)
        if delay:
            await asyncio.sleep(delay)
        return answer

    async def _answer(self, request: web.Request, body: Any) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        parts = parts[2:] if parts[0] == "api" else parts[3:]
        namespace = ""
        if parts[0] == "namespaces" and len(parts) > 2:
            namespace, parts = parts[1], parts[2:]
        plural, name, sub = parts[0], *[*parts[1:], "", ""][:2]
        if request.method == "GET" and not name:
            if "watch" in request.query:
                return await self._watch(request, plural)
            items = self.all(plural)
            return web.json_response({"metadata": {"resourceVersion": str(next(self._version))}, "items": items})
        if request.method == "POST" and not name:
            if "name" not in body.setdefault("metadata", {}):
                body["metadata"]["name"] = f"{body['metadata'].pop('generateName', 'x-')}{uuid.uuid4().hex[:6]}"
            if namespace:
                body["metadata"]["namespace"] = namespace
            if (namespace, body["metadata"]["name"]) in self.objects[plural]:
                return _status(409, "already exists")
            return web.json_response(await self._store(plural, body), status=201)
        item = self.find(plural, name, namespace)
        if item is None:
            return _status(404, f"{plural} {name} not found")
        return await self._one(request.method, plural, item, sub, body)

    async def _one(self, method: str, plural: str, item: Object, sub: str, body: Any) -> web.StreamResponse:
        metadata = item["metadata"]
        key = (metadata.get("namespace", ""), metadata["name"])
        if sub == "scale":
            return await self._scale(method, plural, item, body)
        if method == "GET":
            return web.json_response(item)
        if method == "POST" and sub == "binding":
            if body["metadata"].get("uid") not in (None, metadata["uid"]) or item["spec"].get("nodeName"):
                return _status(409, "the pod is bound or another")
            item["spec"]["nodeName"] = body["target"]["name"]
            metadata.setdefault("annotations", {}).update(body["metadata"].get("annotations", {}))
            return web.json_response(await self._store(plural, item), status=201)
        if method == "POST" and sub == "eviction":
            wanted = body.get("deleteOptions", {}).get("preconditions", {})
            self.evictions.append(metadata["name"])
            if wanted.get("uid") not in (None, metadata["uid"]):
                return _status(409, "the uid in the precondition does not match")
            await self._drop(plural, key)
            return _status(201, "evicted")
        version = (body or {}).get("metadata", {}).get("resourceVersion")
        if version not in (None, metadata["resourceVersion"]):
            return _status(409, "the object has been modified")
        if method == "DELETE":
            uid = (body or {}).get("preconditions", {}).get("uid")
            if uid not in (None, metadata["uid"]):
                return _status(409, "the uid in the precondition does not match")
            await self._drop(plural, key)
            return web.json_response(item)
        if method == "PUT":
            body["metadata"].setdefault("uid", metadata["uid"])
            return web.json_response(await self._store(plural, body))
        return web.json_response(await self._store(plural, merge(item, body)))

    async def _scale(self, method: str, plural: str, item: Object, body: Any) -> web.StreamResponse:
        if method == "PUT":
            if body["metadata"].get("resourceVersion") not in (None, item["metadata"]["resourceVersion"]):
                return _status(409, "the object has been modified")
            item["spec"]["replicas"] = body["spec"]["replicas"]
            await self._store(plural, item)
        shown = {key: item["metadata"][key] for key in ("name", "namespace", "uid", "resourceVersion")}
        return web.json_response({"kind": "Scale", "metadata": shown, "spec": {"replicas": item["spec"]["replicas"]}})

    async def _watch(self, request: web.Request, plural: str) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        log = self._log[plural]
        since = int(request.query["resourceVersion"])
        following = next((number for number, (version, _) in enumerate(log) if version > since), len(log))
        while True:
            while following < len(log):
                event = log[following][1]
                following += 1
                try:
                    await response.write(json.dumps(event).encode() + b"\n")
                except ConnectionError:
                    return response
            async with self._changed:
                # Nothing may be announced between the last look and the wait: the lock is held for both.
                if following == len(log):
                    await self._changed.wait()


def merge(old: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def _status(code: int, message: str) -> web.Response:
    return web.json_response({"kind": "Status", "message": message, "code": code}, status=code)


@asynccontextmanager
async def serving() -> AsyncIterator[FakeApi]:
    """With the policy that keeps measured keys for the monitor: programs believe what is measured."""
    api = FakeApi()
    await api.put("validatingadmissionpolicies", figures_policy.policy())
    await api.put("validatingadmissionpolicybindings", figures_policy.binding())
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", api.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.01, handler_cancellation=True)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    api.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield api
    finally:
        await runner.cleanup()


def node(name: str, *, cpu: str = "8", memory: str = "32Gi", **metadata: Any) -> Object:
    amounts = {"cpu": cpu, "memory": memory, "pods": "1000"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}, **metadata},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def pod(name: str, *, namespace: str = "default", scheduler: str = "ecotone", cpu: str = "10m", **spec: Any) -> Object:
    container = {"name": "main", "image": "x", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"schedulerName": scheduler, "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }
