"""Who calls: names under which we may be reached, bearer tokens, and whether their owner may see a pod.

Reading decisions reveals names of workloads, so such a route demands a token the API server vouches for. Coming from
loopback proves little (a mesh's sidecar delivers everybody's requests from there, a browser can be sent there under a
foreign name), so it counts only where the operator says so, and only under a name that is ours.

Asking the API server costs it work and us connections: answers are kept by the token's hash, good and bad ones alike, and
questions beyond a rate are not asked.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from aiohttp import web

from ecotone.kube.client import ApiClient
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS

REVIEW_SECONDS = 30.0
REMEMBERED = 1_000
REVIEWS_PER_SECOND = 5.0
REVIEW_BURST = 10.0
TOKEN_LIMIT = 16 << 10
_TOKEN = re.compile(r"[A-Za-z0-9\-._~+/]+=*", re.ASCII)
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.%]+\]|[^:\[\]]+)(:\d{1,5})?", re.ASCII)


def check_host(request: web.Request, *, allowed: Sequence[str]) -> None:
    """Raises 421 unless the request was meant for us by an address, ``localhost``, a Service's name, or ``allowed``."""
    match = _HOST.fullmatch(request.headers.get("Host", ""))
    name = match["name"].strip("[]").rstrip(".").lower() if match else ""
    known = name in ("localhost", *allowed) or name.endswith(".svc") or ".svc." in name
    if not known and not _is_address(name):
        raise web.HTTPMisdirectedRequest(text="this name is not ours; see --allow-host")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.split("%", maxsplit=1)[0])
    except ValueError:
        return False
    return True


def from_loopback(request: web.Request) -> bool:
    """True if the peer is on this machine and used an address or ``localhost`` to reach it."""
    peer = (request.remote or "").split("%")[0]
    match = _HOST.fullmatch(request.headers.get("Host", ""))
    name = match["name"].strip("[]").lower() if match else ""
    return _is_address(peer) and ipaddress.ip_address(peer).is_loopback and (name == "localhost" or _is_address(name))


def bearer_token(request: web.Request) -> str | None:
    """The token of the Authorization header, None if there is none; one that cannot be a token is a 400."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip(" ")
    if len(token) > TOKEN_LIMIT or not _TOKEN.fullmatch(token):
        raise web.HTTPBadRequest(text="the bearer token is malformed")
    return token


class _User(msgspec.Struct):
    username: str = ""
    uid: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _ReviewStatus(msgspec.Struct):
    authenticated: bool = False
    allowed: bool = False
    user: _User = msgspec.field(default_factory=_User)


class _Review(msgspec.Struct):
    status: _ReviewStatus


class Authoriser:
    """Lets a caller in whose token's owner may read the pods of that namespace; from loopback only if told to.

    ``client`` should be one of its own: whoever sends junk must not take the connections that bindings need.
    """

    def __init__(
        self,
        client: ApiClient,
        *,
        trust_loopback: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._trust_loopback = trust_loopback
        self._clock = clock
        self._known: OrderedDict[bytes, tuple[float, bool]] = OrderedDict()
        self._tokens = REVIEW_BURST
        self._refilled = clock()
        self.reviews = 0

    async def allowed(self, request: web.Request, *, namespace: str) -> bool:
        """Raises 400 for a malformed token and 429 if too many are asked about."""
        token = bearer_token(request)
        if token is None:
            return self._trust_loopback and from_loopback(request)
        key = hashlib.sha256(f"{namespace}\n{token}".encode()).digest()
        known = self._known.get(key)
        if known is not None and self._clock() - known[0] <= REVIEW_SECONDS:
            return known[1]
        if not self._may_ask():
            raise web.HTTPTooManyRequests(text="too many tokens to review", headers={"Retry-After": "1"})
        verdict = await self._review(token, namespace)
        if verdict is None:
            return False
        self._known[key] = (self._clock(), verdict)
        self._known.move_to_end(key)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return verdict

    def _may_ask(self) -> bool:
        now = self._clock()
        self._tokens = min(REVIEW_BURST, self._tokens + (now - self._refilled) * REVIEWS_PER_SECOND)
        self._refilled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        self.reviews += 1
        return True

    async def _review(self, token: str, namespace: str) -> bool | None:
        """None if the API server did not say."""
        try:
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
            status = await self._ask(TOKEN_REVIEWS, body)
            if not status.authenticated:
                return False
            # Everything the authenticator said goes on: webhooks authorise by uid and extra, too.
            access = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": status.user.username,
                    "uid": status.user.uid,
                    "groups": status.user.groups,
                    "extra": status.user.extra,
                    "resourceAttributes": {"namespace": namespace, "verb": "get", "resource": "pods"},
                },
            }
            return (await self._ask(SUBJECT_ACCESS_REVIEWS, access)).allowed
        except (ApiError, UnreachableError):
            return None

    async def _ask(self, resource: Any, body: dict[str, Any]) -> _ReviewStatus:
        answer = await self._client.create(resource, body)
        try:
            return msgspec.json.decode(answer, type=_Review).status
        except msgspec.MsgspecError:
            raise UnreachableError("the review's answer is not understood") from None
