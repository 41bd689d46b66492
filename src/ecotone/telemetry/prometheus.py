"""One Prometheus, asked over HTTP.

Every failure is a value (``Failure``), not an exception: a monitor asks dozens of questions a cycle, each may fail for
itself, and what failed decides what is said in a condition. Queries are POSTed (a long one does not fit an address),
bounded in time and in the bytes that are read, and carry the evaluation time, so that all questions of a cycle speak of
the same moment. Whoever asks takes turns with the others (`Turns`): an application whose questions are many or slow
delays its own. The token is read from its file for every question, since projected tokens rotate, and never logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import aiohttp

from ecotone.model.errors import InputError
from ecotone.telemetry.samples import MalformedError, Sample, Track, error_text, read_matrix, read_vector
from ecotone.telemetry.turns import Turns

T = TypeVar("T")

WAITING = 6.0
"""So many times as long as an answer may take, a question waits for its turn."""
BODY_LIMIT = 64 << 20
"""Of an answer to a question; a target list of a large cluster is longer."""
PAGE_LIMIT = 256 << 20
QUERY_LIMIT = 512 << 10
TOKEN_LIMIT = 64 << 10
ITSELF = "*"
"""Who asks a Prometheus about itself."""


class Trouble(StrEnum):
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    """The query itself is wrong (400, 422) or we may not ask (401, 403)."""
    FAILING = "failing"
    """The server's own fault: 5xx, or anything else that is no answer."""
    TOO_LARGE = "too-large"
    MALFORMED = "malformed"
    UNTRUSTED = "untrusted"
    """It cannot be told who wrote what it answers."""


@dataclass(frozen=True, slots=True)
class Failure:
    trouble: Trouble
    message: str

    @property
    def ours(self) -> bool:
        """True if asking again unchanged cannot help."""
        return self.trouble in (Trouble.REFUSED, Trouble.TOO_LARGE)


class Source(Protocol):
    """Whoever answers queries: a Prometheus, or a test."""

    async def query(self, promql: str, *, at: float, asker: str = "") -> list[Sample] | Failure:
        """``asker``: the namespace for which it is asked; questions of namespaces take turns."""

    async def page(self, path: str, fields: Mapping[str, str]) -> bytes | Failure:
        """What the API says about itself there."""


@dataclass(frozen=True, slots=True)
class PrometheusSettings:
    url: str
    token_file: Path | None = None
    ca_file: Path | None = None
    timeout: float = 10.0
    connections: int = 8
    body_limit: int = BODY_LIMIT

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(f"--prometheus {self.url!r}: an http(s) address is expected", hint="http://HOST:9090")
        if parts.username or parts.password:
            raise InputError("--prometheus: no credentials in the address", hint="use --prometheus-token-file")
        if self.token_file is not None and parts.scheme != "https":
            raise InputError("a token is sent only over https", hint="give --prometheus https://...")


class Prometheus:
    """Use as an async context manager."""

    def __init__(self, settings: PrometheusSettings) -> None:
        self._settings = settings
        self._base = settings.url.rstrip("/") + "/api/v1/"
        self._session: aiohttp.ClientSession | None = None
        places = settings.connections
        self._turns = Turns(places, each=max(1, places // 4))

    async def __aenter__(self) -> Prometheus:
        connector = aiohttp.TCPConnector(limit=self._settings.connections, ssl=_tls(self._settings))
        # No proxy of the environment, no redirects: the token goes where the operator said and nowhere else.
        self._session = aiohttp.ClientSession(connector=connector, headers={"User-Agent": "ecotone"})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def query(self, promql: str, *, at: float, asker: str = "") -> list[Sample] | Failure:
        """An instant query evaluated at that time."""
        fields = {"query": promql, "time": f"{at:.3f}"}
        body = await self._asked("POST", "query", fields, asker=asker, limit=self._settings.body_limit)
        return body if isinstance(body, Failure) else _read(lambda: read_vector(body))

    async def query_range(self, promql: str, *, start: float, end: float, step: float) -> list[Track] | Failure:
        fields = {"query": promql, "start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        body = await self._asked("POST", "query_range", fields, asker="", limit=self._settings.body_limit)
        return body if isinstance(body, Failure) else _read(lambda: read_matrix(body))

    async def page(self, path: str, fields: Mapping[str, str]) -> bytes | Failure:
        return await self._asked("GET", path, fields, asker=ITSELF, limit=PAGE_LIMIT)

    async def _asked(
        self, method: str, path: str, fields: Mapping[str, str], *, asker: str, limit: int
    ) -> bytes | Failure:
        if len(fields.get("query", "")) > QUERY_LIMIT:
            return Failure(Trouble.REFUSED, f"a query of {len(fields['query'])} characters is too long")
        patience = WAITING * self._settings.timeout
        try:
            async with contextlib.AsyncExitStack() as stack:
                # The time of a question runs from its turn on: hundreds of groups ask at once, and most wait here first.
                try:
                    await stack.enter_async_context(self._turns.turn(asker, patience=patience))
                except TimeoutError:
                    return Failure(Trouble.TIMEOUT, f"earlier questions took more than {patience:g} s")
                return await self._sent(method, path, fields, limit)
        except _TooLargeError:
            return Failure(Trouble.TOO_LARGE, f"an answer of more than {limit} bytes")
        except TimeoutError:
            return Failure(Trouble.TIMEOUT, f"no answer within {self._settings.timeout:g} s")
        except (aiohttp.ClientError, OSError, ssl.SSLError, ValueError) as error:
            return Failure(Trouble.UNREACHABLE, str(error) or type(error).__name__)

    async def _sent(self, method: str, path: str, fields: Mapping[str, str], limit: int) -> bytes | Failure:
        if self._session is None:
            raise RuntimeError("Prometheus is used outside its 'async with'")
        try:
            headers = self._headers()
        except OSError as error:
            return Failure(Trouble.UNREACHABLE, f"the token file cannot be read: {error.strerror}")
        timeout = self._settings.timeout
        given: dict[str, Any] = {"params": fields}
        if method == "POST":
            given = {"data": {**fields, "timeout": f"{max(1, round(timeout))}s"}}
        async with asyncio.timeout(timeout):
            async with self._session.request(
                method, self._base + path, headers=headers, allow_redirects=False, **given
            ) as answer:
                body = await _bounded(answer, limit)
                return body if answer.status == 200 else _refusal(answer.status, body)

    def _headers(self) -> dict[str, str]:
        if self._settings.token_file is None:
            return {}
        with self._settings.token_file.open(encoding="utf-8") as file:
            token = file.read(TOKEN_LIMIT).strip()
        return {"Authorization": f"Bearer {token}"} if token else {}


class _TooLargeError(Exception):
    pass


async def _bounded(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.content.iter_any():
        size += len(chunk)
        if size > limit:
            raise _TooLargeError
        parts.append(chunk)
    return b"".join(parts)


def _refusal(status: int, body: bytes) -> Failure:
    said = error_text(body)
    message = f"{said} ({status})" if said else f"status {status}"
    return Failure(Trouble.REFUSED if status in (400, 401, 403, 404, 405, 422) else Trouble.FAILING, message)


def _read(reading: Callable[[], list[T]]) -> list[T] | Failure:
    try:
        return reading()
    except MalformedError as error:
        return Failure(Trouble.MALFORMED, str(error))


def _tls(settings: PrometheusSettings) -> ssl.SSLContext | bool:
    if settings.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(settings.ca_file))
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"cannot be read as certificates: {error}", file=str(settings.ca_file)) from None
