"""Binding a pod to a node, once, whatever the network does.

The API server rejects a binding for a pod that already has a node, is being deleted, has gates, or is not the pod with
the uid we name. So a binding can be repeated safely *to the same node*, and must not be tried on another node while the
first may still arrive. After an answer that does not say what happened (a time-out, a broken connection, a 5xx), the
pod is read first: if it has a node, that is the answer; if not, the same binding is sent again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import Enum

import msgspec

from ecotone.kube.backoff import Backoff
from ecotone.kube.client import ApiClient, decode
from ecotone.kube.errors import ApiError, UnreachableError
from ecotone.kube.resources import PODS

ATTEMPTS = 8
_encode = msgspec.json.Encoder().encode
Deadline = Callable[[], float | None]


def no_deadline() -> float | None:
    return None


class Outcome(Enum):
    BOUND = "bound"
    """The pod is on the node we asked for."""
    TAKEN = "taken"
    """Somebody else bound it to another node."""
    GONE = "gone"
    """Deleted, or replaced by a namesake."""
    REFUSED = "refused"
    """The server said no and will say no again for this pod as it is."""


class Bound(msgspec.Struct, frozen=True):
    outcome: Outcome
    node: str | None = None
    detail: str = ""
    attempts: int = 1


class _Meta(msgspec.Struct, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Pod(msgspec.Struct):
    metadata: _Meta
    spec: _Spec


def binding(
    *, namespace: str, name: str, uid: str, node: str, annotations: Mapping[str, str] | None = None
) -> dict[str, object]:
    """The Binding object; its uid keeps a pod of the same name that came later from being bound."""
    metadata: dict[str, object] = {"name": name, "namespace": namespace, "uid": uid}
    if annotations:
        metadata["annotations"] = annotations
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}


async def bind(
    client: ApiClient,
    *,
    namespace: str,
    name: str,
    uid: str,
    node: str,
    annotations: Mapping[str, str] | None = None,
    deadline: Deadline = no_deadline,
    timeout: float | None = None,
) -> Bound:
    """Binds the pod with this uid to ``node``; raises ``UnreachableError`` only when ``deadline()`` has come.

    The deadline is asked anew for every attempt: a lease that was renewed meanwhile gives more time.
    """
    body = binding(namespace=namespace, name=name, uid=uid, node=node, annotations=annotations)
    path = PODS.path(namespace=namespace, name=name, subresource="binding")
    encoded = _encode(body)
    backoff: Backoff | None = None
    detail = ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            await client.request("POST", path, body=encoded, deadline=deadline(), timeout=timeout)
            return Bound(Outcome.BOUND, node, attempts=attempt)
        except ApiError as error:
            detail = error.detail
            if error.not_found:
                return Bound(Outcome.GONE, detail=detail, attempts=attempt)
            if not error.conflict and not error.transient:
                return Bound(Outcome.REFUSED, detail=detail, attempts=attempt)
            conflict = error.conflict
        except UnreachableError as error:
            detail, conflict = str(error), False
        known = await _where(client, namespace=namespace, name=name, uid=uid, deadline=deadline)
        if known is None:
            return Bound(Outcome.GONE, detail=detail, attempts=attempt)
        if known:
            outcome = Outcome.BOUND if known == node else Outcome.TAKEN
            return Bound(outcome, known, detail=detail, attempts=attempt)
        # Unbound and ours, yet in conflict: its version moved under the write. Or it is gated or terminating, which
        # repeating does not cure, so it is repeated only a few times.
        if conflict and attempt >= 3:
            return Bound(Outcome.REFUSED, detail=detail, attempts=attempt)
        backoff = backoff or Backoff(first=0.05, limit=5.0)
        await asyncio.sleep(backoff.next())
    return Bound(Outcome.REFUSED, detail=detail, attempts=ATTEMPTS)


async def _where(client: ApiClient, *, namespace: str, name: str, uid: str, deadline: Deadline) -> str | None:
    """The pod's node, "" when it has none yet, None when that very pod no longer exists."""
    try:
        answer = await client.request("GET", PODS.path(namespace=namespace, name=name), deadline=deadline())
    except ApiError as error:
        if error.not_found:
            return None
        raise UnreachableError(error.detail) from None
    pod = decode(answer, _Pod)
    return pod.spec.node_name if pod.metadata.uid == uid else None
