"""One keep-alive session with an API server.

Everything else in this package is written against ``ApiClient.request`` and ``ApiClient.stream``; only this file and the
room ``http`` know how they travel. It adds credentials per request (they rotate), bounds every answer in size and time,
and turns a refusal into an ``ApiError``. It repeats only what is safe to repeat: a request the server explicitly refused
to start (429 with Retry-After), a 401 once with a fresh token, and reads. A write whose answer was lost is reported as
``UnreachableError``: its caller alone knows how to find out what happened.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from ecotone.kube.backoff import Backoff
from ecotone.kube.errors import ApiError, TooLargeError, UnreachableError
from ecotone.kube.http.connection import HttpConnection
from ecotone.kube.http.parser import AnswerParser, MalformedAnswerError
from ecotone.kube.http.pool import Pool
from ecotone.kube.kubeconfig import Connection
from ecotone.kube.resources import Resource
from ecotone.model.errors import OutsideError

T = TypeVar("T")

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

BODY_LIMIT = 512 << 20
"""For one answer: a page of two thousand large objects, with room to spare."""
REFUSAL_LIMIT = 1 << 20
READ_ATTEMPTS = 4
THROTTLED_ATTEMPTS = 6

_encode = msgspec.json.Encoder().encode


class ApiClient:
    """Requests to one API server; use as an async context manager."""

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str = "ecotone",
        timeout: float = 30.0,
        connections: int = 64,
    ) -> None:
        self._connection = connection
        self._timeout = timeout
        self._address = urlsplit(connection.server)
        # Plain bodies: on the way to an API server, compressing costs more than it saves.
        headers = {"Host": self._address.netloc.rpartition("@")[2], "User-Agent": user_agent, "Accept": JSON}
        if connection.impersonate:
            headers["Impersonate-User"] = connection.impersonate
        self._headers = "".join(_header(name, value) for name, value in headers.items())
        self._token: str | None = None
        self._authorization = ""
        """The header of the token above, which was looked through once."""
        self._connections = connections
        self._pool: Pool | None = None
        self._ahead: dict[tuple[str, tuple[tuple[str, str], ...]], asyncio.Task[bytes]] = {}

    @property
    def connection(self) -> Connection:
        return self._connection

    async def __aenter__(self) -> ApiClient:
        host, port = self._address.hostname or "", self._address.port
        self._pool = Pool(
            host,
            port or (443 if self._address.scheme == "https" else 80),
            tls=self._connection.tls,
            server_hostname=self._connection.server_hostname,
            limit=self._connections,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for task in self._ahead.values():
            task.cancel()
        self._ahead.clear()
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    def ask_ahead(self, path: str, *, query: Mapping[str, str], timeout: float, silence: float) -> None:
        """Starts a read that somebody will ask for who is not ready yet; the next ``request`` for it gets its answer."""
        task = asyncio.create_task(self.request("GET", path, query=query, timeout=timeout, silence=silence))
        task.add_done_callback(_retrieve)
        self._ahead[path, tuple(query.items())] = task

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
        deadline: float | None = None,
        silence: float | None = None,
        patient: bool = True,
    ) -> bytes:
        """The body of a 2xx answer.

        ``patient`` waits out a 429; an eviction is not, since there 429 is the answer and not a delay.

        ``timeout`` bounds one attempt, and ``silence`` how long nothing of its answer may arrive. ``deadline``
        (``time.monotonic``) bounds all of them: a leader whose lease is running out passes its end, so that nothing it
        sent is still under way when another leader starts.
        """
        if self._ahead and method == "GET":
            wanted = (path, tuple((query or {}).items()))
            asked = self._ahead.get(wanted)
            if asked is not None and asked is not asyncio.current_task():  # which is on its way here to be sent
                del self._ahead[wanted]
                return await asked
        data = body if isinstance(body, bytes) or body is None else _encode(body)
        backoff: Backoff | None = None
        attempts = 0
        while True:
            attempts += 1
            try:
                budget = self._budget(timeout, deadline, f"{method} {path}")
                return await self._attempt(
                    method, path, data, query=query, content_type=content_type, budget=budget, silence=silence
                )
            except ApiError as error:
                if error.status == 401 and attempts == 1:
                    self._connection.tokens.invalidate()
                    continue
                told_to_wait = error.status == 429 and error.retry_after is not None
                refused = patient and told_to_wait and attempts < THROTTLED_ATTEMPTS
                if not refused and not (error.transient and method == "GET" and attempts < READ_ATTEMPTS):
                    raise
                backoff = backoff or Backoff()
                await self._pause(backoff.next(at_least=error.retry_after), deadline, error)
            except UnreachableError as error:
                if method != "GET" or isinstance(error, TooLargeError) or attempts >= READ_ATTEMPTS:
                    raise
                backoff = backoff or Backoff()
                await self._pause(backoff.next(), deadline, error)

    async def _pause(self, delay: float, deadline: float | None, error: Exception) -> None:
        if deadline is not None and time.monotonic() + delay >= deadline:
            raise error
        await asyncio.sleep(delay)

    def _budget(self, timeout: float | None, deadline: float | None, what: str) -> float:
        budget = self._timeout if timeout is None else timeout
        if deadline is not None:
            budget = min(budget, deadline - time.monotonic())
            if budget <= 0:
                raise UnreachableError(f"no time left for {what}")
        return budget

    async def _attempt(
        self,
        method: str,
        path: str,
        data: bytes | None,
        *,
        query: Mapping[str, str] | None,
        content_type: str,
        budget: float,
        silence: float | None,
    ) -> bytes:
        request = b""
        try:
            async with asyncio.timeout(budget):
                request = await self._written(method, path, data, query=query, content_type=content_type)
                pool = self._opened()
                connection = await pool.take()
                try:
                    answer = await connection.send(request, silence=silence)
                    return await _body_or_refusal(connection, answer, silence=silence)
                finally:
                    # One whose answer was not read to its end is not used again.
                    pool.give_back(connection)
        except TimeoutError:
            if not request:
                awaited = self._connection.tokens.awaited()
                raise OutsideError(f"no token from {awaited} within {budget:.3g} s") from None
            waited = budget if silence is None else min(budget, silence)
            raise UnreachableError(f"no answer within {waited:.3g} s to {method} {path}") from None
        except (OSError, MalformedAnswerError) as error:
            raise UnreachableError(f"{method} {path}: {_plain(error)}") from None

    @asynccontextmanager
    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncIterator[HttpConnection]:
        """An open GET whose body is read as it arrives (a watch); its silence is the caller's to judge."""
        try:
            request = await self._written("GET", path, None, query=query, content_type=JSON)
            pool = self._opened()
            connection = await pool.take()
            try:
                answer = await connection.send(request)
                if answer.status >= 300:
                    if answer.status == 401:
                        self._connection.tokens.invalidate()
                    await _body_or_refusal(connection, answer)
                yield connection
            finally:
                pool.give_back(connection)
        except (OSError, MalformedAnswerError) as error:
            raise UnreachableError(f"GET {path}: {_plain(error)}") from None

    def _opened(self) -> Pool:
        if self._pool is None:
            raise RuntimeError("ApiClient is used outside its 'async with'")
        return self._pool

    async def _written(
        self, method: str, path: str, data: bytes | None, *, query: Mapping[str, str] | None, content_type: str
    ) -> bytes:
        """A request as it travels, with the token of the moment."""
        target = self._address.path + path
        if query:
            target = f"{target}?{urlencode(query, quote_via=quote)}"
        head = f"{method} {target} HTTP/1.1\r\n{self._headers}"
        token = await self._connection.tokens.token()
        if token is not None:
            if token != self._token:
                if not token.isprintable() or not token.isascii():
                    raise OutsideError("the token has characters that no token has")
                self._authorization = _header("Authorization", f"Bearer {token}")
                self._token = token
            head += self._authorization
        if data is None:
            return f"{head}\r\n".encode("latin-1")
        return f"{head}Content-Type: {content_type}\r\nContent-Length: {len(data)}\r\n\r\n".encode("latin-1") + data

    async def get(self, kind: type[T], resource: Resource, *, name: str, namespace: str | None = None) -> T:
        return decode(await self.request("GET", resource.path(namespace=namespace, name=name)), kind)

    async def create(
        self, resource: Resource, body: Any, *, namespace: str | None = None, dry_run: bool = False
    ) -> bytes:
        return await self.request("POST", resource.path(namespace=namespace), body=body, query=_dry(dry_run))

    async def delete(
        self,
        resource: Resource,
        *,
        name: str,
        namespace: str | None = None,
        uid: str | None = None,
        grace_period: int | None = None,
        dry_run: bool = False,
    ) -> bytes:
        """Deletes an object; with ``uid``, that very object and not a namesake that replaced it."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid is not None:
            options["preconditions"] = {"uid": uid}
        if grace_period is not None:
            options["gracePeriodSeconds"] = grace_period
        if dry_run:
            # In the body: the server reads no options from the query of a deletion that has one.
            options["dryRun"] = ["All"]
        return await self.request("DELETE", resource.path(namespace=namespace, name=name), body=options)

    async def patch(
        self,
        resource: Resource,
        body: Any,
        *,
        name: str,
        namespace: str | None = None,
        subresource: str | None = None,
        content_type: str = MERGE_PATCH,
        dry_run: bool = False,
    ) -> bytes:
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return await self.request("PATCH", path, body=body, content_type=content_type, query=_dry(dry_run))


def _dry(dry_run: bool) -> dict[str, str] | None:
    return {"dryRun": "All"} if dry_run else None


def decode(answer: bytes, kind: type[T]) -> T:
    """What an answer says; one that says nothing of the kind (a proxy's page, half an object) is no answer."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreachableError(f"the answer is not understood: {error}") from None


def _header(name: str, value: str) -> str:
    """A line of the head; whoever could put a line end into it would write headers of his own."""
    if any(each in value for each in "\r\n\0") or not value.isascii():
        raise UnreachableError(f"the {name} of a request holds characters that no header may hold")
    return f"{name}: {value}\r\n"


async def _body_or_refusal(connection: HttpConnection, answer: AnswerParser, *, silence: float | None = None) -> bytes:
    """The body of a 2xx answer, counted as it is read: a declared length is only a promise, and chunks declare none."""
    limit = BODY_LIMIT if answer.status < 300 else REFUSAL_LIMIT
    declared = answer.headers.get("content-length")
    if declared is not None and int(declared) > limit:
        raise TooLargeError(f"an answer of {declared} bytes is more than is read")
    parts: list[bytes] = []
    size = 0
    while part := await connection.read(silence=silence):
        size += len(part)
        if size > limit:
            raise TooLargeError(f"an answer of more than {limit} bytes is not read")
        parts.append(part)
    body = parts[0] if len(parts) == 1 else b"".join(parts)
    if answer.status >= 300:
        raise ApiError.from_body(answer.status, body, retry_after=_retry_after(answer.headers))
    return body


def _retry_after(headers: Mapping[str, str]) -> float | None:
    try:
        return max(0.0, min(float(headers["retry-after"]), 60.0))
    except (KeyError, ValueError):
        return None


def _retrieve(task: asyncio.Task[bytes]) -> None:
    """An answer that nobody came for is no failure."""
    if not task.cancelled():
        task.exception()


def _plain(error: Exception) -> str:
    return str(error) or type(error).__name__
