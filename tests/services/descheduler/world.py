"""A small cluster with the controllers that matter here: Deployments keep their number of pods, pods become ready."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from ecotone.kube.lease import LeaseTimes
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services.descheduler.program import DeschedulerProgram
from ecotone.services.descheduler.settings import DeschedulerProgramSettings
from ecotone.services.scheduler.program import SchedulerProgram
from ecotone.services.scheduler.settings import SchedulerSettings
from services.fake_api import FakeApi, Object, node, pod

COST = "controller.kubernetes.io/pod-deletion-cost"
NODES = ("near", "far")


def deployment(name: str, replicas: int, **annotations: Any) -> Object:
    labels = {"app": name, "app-group": "shop"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": labels,
            "annotations": {f"ecotone.dev/{key}": json.dumps(value) for key, value in annotations.items()},
        },
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}},
    }


def app_group(**spec: Any) -> Object:
    return {
        "apiVersion": "ecotone.dev/v1alpha1",
        "kind": "AppGroup",
        "metadata": {"name": "shop", "namespace": "default", "generation": 1},
        "spec": {"name": "shop", "runPeriod": 1, "window": "1s", **spec},
    }


class World:
    """Nodes ``near`` and ``far``, 80 ms apart; ``db`` is near and ``front``, which talks to it, is far."""

    def __init__(self, api: FakeApi) -> None:
        self.api = api
        self._serial = itertools.count()
        self.becomes_ready = True

    async def build(self, *, front: int = 2, **group: Any) -> None:
        for name, other in zip(NODES, reversed(NODES), strict=True):
            latencies = json.dumps({other: 80.0})
            await self.api.put("nodes", node(name, annotations={"ecotone.dev/latencies": latencies}))
        await self.api.put("deployments", deployment("db", 1, traffic={"front": 50_000}, requests={"front": 100}))
        await self.api.put(
            "deployments", deployment("front", front, traffic={"db": 50_000}, requests={"db": 100}, calls={"db": 100})
        )
        await self.add_pod("db", "near")
        for _ in range(front):
            await self.add_pod("front", "far")
        await self.api.put("appgroups", app_group(**group))

    async def add_pod(self, workload: str, where: str | None = None) -> Object:
        one = pod(f"{workload}-1-{next(self._serial)}", cpu="100m")
        one["metadata"]["labels"] = {"app": workload, "pod-template-hash": "1", "app-group": "shop"}
        one["metadata"]["ownerReferences"] = [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{workload}-1", "uid": "1", "controller": True}
        ]
        if where is not None:
            one["spec"]["nodeName"] = where
            self._run(one)
        return await self.api.put("pods", one)

    @staticmethod
    def _run(one: Object) -> None:
        one["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}

    def pods(self, workload: str) -> list[Object]:
        return [one for one in self.api.all("pods") if one["metadata"]["labels"]["app"] == workload]

    def where(self, workload: str) -> list[str]:
        return sorted(one["spec"].get("nodeName", "") for one in self.pods(workload))

    def ready(self, workload: str) -> int:
        return sum(bool(one["status"].get("conditions")) for one in self.pods(workload))

    def status(self) -> dict[str, Any]:
        group = self.api.find("appgroups", "shop", "default")
        return {} if group is None else group.get("status", {})

    def moves(self, outcome: str | None = None) -> list[dict[str, Any]]:
        return [one for one in self.status().get("moves", []) if outcome in (None, one["outcome"])]

    def reason(self, kind: str = "Descheduling") -> str:
        return next((one["reason"] for one in self.status().get("conditions", []) if one["type"] == kind), "")

    async def control(self) -> None:
        """What controllers and kubelets do, a turn every few milliseconds."""
        while True:
            for each in self.api.all("deployments"):
                name, wanted = each["metadata"]["name"], each["spec"]["replicas"]
                present = self.pods(name)
                for _ in range(wanted - len(present)):
                    await self.add_pod(name)
                cheapest = sorted(present, key=lambda one: int(one["metadata"].get("annotations", {}).get(COST, "0")))
                for one in cheapest[: max(0, len(present) - wanted)]:
                    await self.api.remove("pods", one["metadata"]["name"], "default")
            for one in self.api.all("pods"):
                if self.becomes_ready and one["spec"].get("nodeName") and not one["status"].get("conditions"):
                    self._run(one)
                    await self.api.put("pods", one)
            await asyncio.sleep(0.02)


LEASE = LeaseTimes(duration=3, renew_deadline=2, retry_period=0.2)


def scheduler_settings() -> SchedulerSettings:
    return SchedulerSettings({"ecotone": resolve("ecotone-fast")}, lease=LEASE, identity="scheduler", request_timeout=1)


def descheduler_settings(**more: Any) -> DeschedulerProgramSettings:
    given = {"profile": resolve("ecotone-fast"), "identity": "descheduler", "lease": LEASE, "ready_seconds": 5.0}
    return DeschedulerProgramSettings(**{**given, **more})


@asynccontextmanager
async def running(world: World, *, scheduler: bool = True, **more: Any) -> AsyncIterator[DeschedulerProgram]:
    """Controllers, our scheduler and our descheduler at work on this world."""
    connection = world.api.connection()
    descheduler = DeschedulerProgram(connection, descheduler_settings(**more), listen=None)
    programs: list[Any] = [descheduler]
    if scheduler:
        programs.append(SchedulerProgram(connection, scheduler_settings(), listen=None))
    tasks = [asyncio.create_task(world.control()), *(asyncio.create_task(one.run()) for one in programs)]
    try:
        yield descheduler
    finally:
        for one in programs:
            one.stop()
        await asyncio.wait(tasks[1:], timeout=5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def until(condition: Callable[[], bool], *, what: str, seconds: float = 20.0) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {seconds} s: {what}") from None
