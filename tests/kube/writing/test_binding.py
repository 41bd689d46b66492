"""A binding happens at most once and its outcome is always found out."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ecotone.kube.errors import UnreachableError
from ecotone.kube.writing.binding import Bound, Outcome, bind
from kube.stub import Answer, hang, refuse, reply, serving


def pod(node: str, *, uid: str = "u1") -> Answer:
    return reply({"metadata": {"uid": uid}, "spec": {"nodeName": node}})


def outcome(*script: Answer, **options: Any) -> tuple[Bound, list[tuple[str, Any]]]:
    async def run() -> tuple[Bound, list[tuple[str, Any]]]:
        async with serving() as (stub, client):
            stub.then(*script)
            result = await bind(client, namespace="ns", name="p", uid="u1", node="n1", **options)
            return result, [(method, body) for method, _, _, body in stub.requests]

    return asyncio.run(run())


def test_names_the_uid_and_carries_the_reason() -> None:
    result, requests = outcome(reply(status=201), annotations={"ecotone.dev/why": "nearest"})
    assert result.outcome is Outcome.BOUND
    body = requests[0][1]
    assert body["metadata"] == {
        "name": "p",
        "namespace": "ns",
        "uid": "u1",
        "annotations": {"ecotone.dev/why": "nearest"},
    }
    assert body["target"]["name"] == "n1"


def test_after_a_time_out_the_pod_is_read_and_found_bound() -> None:
    result, requests = outcome(hang(), pod("n1"), timeout=0.05)
    assert result.outcome is Outcome.BOUND
    assert [method for method, _ in requests] == ["POST", "GET"]


def test_after_a_time_out_an_unbound_pod_is_bound_again_to_the_same_node() -> None:
    result, requests = outcome(hang(), pod(""), reply(status=201), timeout=0.05)
    assert result == Bound(Outcome.BOUND, "n1", attempts=2)
    assert requests[0][1] == requests[2][1]


def test_a_server_error_is_uncertain_too() -> None:
    result, requests = outcome(refuse(500), pod(""), refuse(503), pod("n1"))
    assert result.outcome is Outcome.BOUND
    assert len(requests) == 4


def test_a_conflict_with_another_scheduler_is_told_apart() -> None:
    result, _ = outcome(refuse(409), pod("n2"))
    assert (result.outcome, result.node) == (Outcome.TAKEN, "n2")


def test_a_namesake_is_not_bound() -> None:
    result, _ = outcome(refuse(409), pod("", uid="u2"))
    assert result.outcome is Outcome.GONE


def test_a_deleted_pod_is_gone() -> None:
    assert outcome(refuse(404))[0].outcome is Outcome.GONE


def test_a_refusal_is_final() -> None:
    result, requests = outcome(refuse(403, "forbidden"))
    assert (result.outcome, result.detail, len(requests)) == (Outcome.REFUSED, "forbidden", 1)


def test_nothing_is_sent_after_the_deadline() -> None:
    async def run() -> None:
        async with serving() as (stub, client):
            with pytest.raises(UnreachableError):
                await bind(client, namespace="ns", name="p", uid="u", node="n", deadline=lambda: time.monotonic() - 1)
            assert stub.requests == []

    asyncio.run(run())
