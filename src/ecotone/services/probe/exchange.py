"""What probes tell each other over HTTP: their coordinates, and a few bytes to time.

`GET /coordinates` hands out this node's place. `GET /bandwidth?bytes=N` sends N bytes, one transfer at a time and never
more than ``MOST_BYTES``, so that measuring does not become the load. The rate of a transfer is taken over its second
half: the first is spent in TCP's slow start, which measures the round trip and not the path. A transfer that fails
leaves no figure; it is never a bandwidth of zero.
"""

from __future__ import annotations

import asyncio
import re
import time

import aiohttp
import msgspec
from aiohttp import web

from ecotone.services.probe.pinging import Target
from ecotone.telemetry.vivaldi import Coordinates, Place

MOST_BYTES = 8 << 20
ANSWER_LIMIT = 4_096
TRANSFER_SECONDS = 20.0
_CHUNK = bytes(64 << 10)
_NUMBER = re.compile(r"[0-9]{1,9}")


class Served:
    """The handlers that answer other probes."""

    def __init__(self, coordinates: Coordinates) -> None:
        self._coordinates = coordinates
        self._busy = False

    async def coordinates(self, _: web.Request) -> web.StreamResponse:
        place = self._coordinates.place
        body = {"vector": list(place.vector), "height": place.height, "error": place.error}
        return web.json_response(body)

    async def bandwidth(self, request: web.Request) -> web.StreamResponse:
        text = request.query.get("bytes", "")
        if not _NUMBER.fullmatch(text) or not 0 < int(text) <= MOST_BYTES:
            return web.Response(status=400, text=f"bytes must be 1 to {MOST_BYTES}")
        if self._busy:
            return web.Response(status=503, text="another transfer is under way", headers={"Retry-After": "10"})
        self._busy = True
        try:
            left = int(text)
            response = web.StreamResponse(headers={"Content-Length": str(left)})
            await response.prepare(request)
            async with asyncio.timeout(TRANSFER_SECONDS):
                while left > 0:
                    await response.write(_CHUNK[:left])
                    left -= len(_CHUNK)
            return response
        finally:
            self._busy = False


def _address(target: Target, path: str) -> str:
    host = f"[{target.address}]" if ":" in target.address else target.address
    return f"http://{host}:{target.port}{path}"


async def fetch_place(session: aiohttp.ClientSession, target: Target, *, timeout: float) -> Place | None:
    """The peer's coordinates; None if it does not tell them or they make no sense."""
    try:
        async with asyncio.timeout(timeout):
            async with session.get(_address(target, "/coordinates"), allow_redirects=False) as answer:
                if answer.status != 200:
                    return None
                found = msgspec.json.decode(await answer.content.read(ANSWER_LIMIT), type=_Told)
    except (aiohttp.ClientError, OSError, TimeoutError, msgspec.MsgspecError):
        return None
    place = Place(tuple(found.vector), found.height, found.error)
    return place if place.sane else None


class _Told(msgspec.Struct):
    vector: list[float]
    height: float
    error: float


async def measure_bandwidth(session: aiohttp.ClientSession, target: Target, *, size: int) -> float | None:
    """Bytes per second over the second half of a transfer; None if it failed."""
    path = f"/bandwidth?bytes={size}"
    try:
        async with asyncio.timeout(TRANSFER_SECONDS):
            async with session.get(_address(target, path), allow_redirects=False) as answer:
                if answer.status != 200:
                    return None
                got, half_at, half = 0, 0.0, 0
                async for chunk in answer.content.iter_any():
                    got += len(chunk)
                    if not half and got >= size // 2:
                        half, half_at = got, time.perf_counter()
                took = time.perf_counter() - half_at
    except (aiohttp.ClientError, OSError, TimeoutError):
        return None
    return (got - half) / took if got >= size > half > 0 and took > 0 else None
