"""Advice carried out when asked for, with a client that answers as told instead of an API server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ecotone.cli import main
from ecotone.kube.client import MERGE_PATCH
from ecotone.kube.errors import ApiError
from ecotone.model.objects import WorkloadKey
from ecotone.planning.advice import Advice
from ecotone.services.apply.advice import Setting, follow

WEB, API = WorkloadKey("shop", "web"), WorkloadKey("shop", "api", "StatefulSet")
NEAR = Advice(("shop/web", "shop/api"), here=40.0, there=20.0)
MORE = Advice(("shop/web", "shop/db"), here=40.0, there=5.0, replicas={WEB: 3, API: 3})


class Client:
    """Remembers what was written, by kind and name."""

    def __init__(self, *, says: str | None = None, refuses: str = "") -> None:
        self.written: dict[tuple[str, str], dict[str, Any]] = {}
        self.dry: set[bool] = set()
        self._says = says
        self._refuses = refuses

    async def get(self, _kind: type, _resource: Any, *, name: str, namespace: str) -> dict[str, Any]:
        assert namespace == "shop"
        spec = {} if self._says is None else {"trafficDistribution": self._says}
        return {"metadata": {"uid": f"u-{name}", "resourceVersion": "7", "name": name}, "spec": spec}

    async def patch(
        self, resource: Any, body: Any, *, name: str, namespace: str, content_type: str, dry_run: bool
    ) -> bytes:
        assert (namespace, content_type) == ("shop", MERGE_PATCH)
        if name == self._refuses:
            raise ApiError(409, "the object has been modified")
        self.written[resource.kind, name] = body
        self.dry.add(dry_run)
        return b"{}"


def followed(
    client: Any, *given: Advice, traffic: bool = False, replicas: bool = False, dry: bool = False
) -> list[Setting]:
    async def run() -> list[Setting]:
        found = follow(client, given, traffic=traffic, replicas=replicas, rehearse=dry)
        return [each async for each in found]

    return asyncio.run(run())


@pytest.mark.parametrize("dry", [False, True])
def test_services_are_patched_in_the_version_that_was_read(dry: bool) -> None:
    client = Client()
    found = followed(client, NEAR, MORE, traffic=True, dry=dry)
    assert all(each.done for each in found)
    assert client.written.keys() == {("Service", "web"), ("Service", "api")}, "the second needs more replicas, too"
    assert client.written["Service", "web"] == {
        "metadata": {"uid": "u-web", "resourceVersion": "7"},
        "spec": {"trafficDistribution": "PreferSameNode"},
    }
    assert client.dry == {dry}


def test_replicas_are_set_by_the_kind_of_the_workload() -> None:
    client = Client()
    followed(client, MORE, replicas=True)
    assert {key: body["spec"] for key, body in client.written.items()} == {
        ("Deployment", "web"): {"replicas": 3},
        ("StatefulSet", "api"): {"replicas": 3},
    }


def test_nothing_is_set_unasked() -> None:
    client = Client()
    assert followed(client, NEAR, MORE) == []
    assert not client.written


def test_what_an_owner_says_stays_and_conflicts_are_reported() -> None:
    (first, second) = followed(Client(says="PreferSameZone"), NEAR, traffic=True)
    assert not first.done and first.detail == "it says PreferSameZone"
    (first, second) = followed(Client(refuses="web"), NEAR, traffic=True)
    assert {first.done, second.done} == {True, False}


def test_a_daemon_set_has_no_number_of_replicas() -> None:
    (found,) = followed(Client(), Advice((), 9.0, 1.0, {WorkloadKey("shop", "agent", "DaemonSet"): 2}), replicas=True)
    assert not found.done


def test_advice_needs_a_plan_of_moves(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["apply", "--replicas"]) == 2
    assert "only with --deschedule" in capsys.readouterr().err
