"""What the descheduler asks the server just before a pod goes."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

from builders import pod
from ecotone.kube.client import ApiClient
from ecotone.services.descheduler.writer import MoveWriter


class Server:
    """Answers every list with these pods."""

    def __init__(self, *pods: dict[str, Any]) -> None:
        self._pods = pods

    async def request(self, method: str, path: str, **_: Any) -> bytes:
        return json.dumps({"items": self._pods}).encode()


def listed(name: str, where: str, *, ready: bool = True, leaving: bool = False, owner: str = "web-1") -> dict[str, Any]:
    gone = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if leaving else {}
    return {
        "metadata": {"name": name, "uid": name, "ownerReferences": [{"name": owner}], **gone},
        "spec": {"nodeName": where},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def mates(*pods: dict[str, Any], leaving: tuple[str, ...] = ()) -> int:
    writer = MoveWriter(cast(ApiClient, Server(*pods)), identity="us", dry_run=False)
    one = pod("a", node="n1", ready=True, owner="ReplicaSet/web-1", uid="a")
    return asyncio.run(writer.ready_mates(one, leaving=leaving))


def test_a_mate_answers_belongs_to_the_same_replica_set_and_stays() -> None:
    assert mates(listed("a", "n1"), listed("b", "n2"), listed("c", "n3")) == 2
    assert mates(listed("a", "n1")) == 0
    assert mates(listed("b", "n2", ready=False), listed("c", "n2", leaving=True), listed("d", "n2", owner="db-1")) == 0


def test_a_mate_on_a_node_that_is_lost_does_not_count() -> None:
    """It is called ready until somebody has noticed; if the pod went, nobody would be left."""
    assert mates(listed("a", "n1"), listed("b", "n2"), leaving=("n2",)) == 0
    assert mates(listed("a", "n1"), listed("b", "n2"), listed("c", "n3"), leaving=("n2",)) == 1
