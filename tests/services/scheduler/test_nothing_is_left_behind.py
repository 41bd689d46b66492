"""Pods that came and went leave nothing behind, however much of their own they had."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import msgspec
import pytest

from builders import node
from ecotone.kube.writing.binding import Bound, Outcome
from ecotone.kube.writing.events import EventRecorder
from ecotone.manifests import wire
from ecotone.manifests.store import ObjectStore
from ecotone.model.columns.nodes import NodeTable
from ecotone.model.objects import Pod
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services.feeds import KindSink, LeftOut
from ecotone.services.scheduler.pod_writer import PodWriter
from ecotone.services.scheduler.records import DecisionRecords
from ecotone.services.scheduler.scheduler import Scheduler
from ecotone.services.scheduler.settings import SchedulerSettings

NODES = 10


class Writer(PodWriter):
    """Binds at once, without an API server, and remembers what a real writer remembers."""

    def __init__(self) -> None:
        super().__init__(None, deadline=lambda: None, request_timeout=1)  # type: ignore[arg-type]
        self.bound: dict[str, str] = {}

    async def bind(self, pod: Pod, node: str, *, why: str | None) -> Bound:
        self.bound[pod.name] = node
        return Bound(Outcome.BOUND, node)

    async def _status(self, *_: Any, **__: Any) -> None: ...


class Recorder(EventRecorder):
    """Everything but the sending."""

    def _enqueue(self, method: str, path: str, body: Any) -> None: ...


def own_pod(number: int, *, where: str = "") -> wire.Pod:
    """Nothing about it is like another pod's; every tenth fits nowhere."""
    label = f"v{number}"
    affinity = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [{"key": label, "operator": "Exists"}]}}
            ]
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {
                        "topologyKey": f"zone-{number % 500}",
                        "labelSelector": {"matchLabels": {"own": label}},
                    },
                }
            ]
        },
    }
    cpu = f"{number % 97}m" if number % 10 else "1000"
    given = {
        "metadata": {
            "name": f"p{number}",
            "namespace": "tenant",
            "uid": f"u{number}",
            "creationTimestamp": f"2026-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}Z",
            "labels": {"app": f"app-{number}", "app-group": f"group-{number}", "own": label},
            "annotations": {
                "ecotone.dev/traffic": f'{{"peer-{number}": {number}}}',
                "ecotone.dev/affinity": f'{{"peer-{number}": {number}}}',
                "ecotone.dev/cpu-usage": f"{number}m",
            },
        },
        "spec": {
            "schedulerName": "ecotone",
            "priority": 0,
            "nodeName": where,
            "containers": [{"name": "c", "image": f"image:{number}", "resources": {"requests": {"cpu": cpu}}}],
            "affinity": affinity,
        },
        "status": {"phase": "Running" if where else "Pending"},
    }
    return msgspec.convert(given, type=wire.Pod)


def containers(root: object) -> Iterator[tuple[str, int]]:
    """Every dictionary, list and set that an object of ours leads to, by the names that lead there, and its size."""
    seen: set[int] = set()
    waiting: list[tuple[str, object]] = [("", root)]
    while waiting:
        path, here = waiting.pop()
        if id(here) in seen or isinstance(here, type | ModuleType | FunctionType | MethodType | str | bytes):
            continue
        seen.add(id(here))
        if isinstance(here, dict | list | set | frozenset) or type(here).__name__ in ("deque", "OrderedDict"):
            yield path, len(here)  # type: ignore[arg-type]
            continue
        module = type(here).__module__
        if module.startswith("ecotone") or module == __name__:
            names = [*getattr(here, "__dict__", ()), *(slot for slot in getattr(type(here), "__slots__", ()))]
            waiting += [(f"{path}.{name}", getattr(here, name, None)) for name in names]


def sizes(*roots: object) -> dict[str, int]:
    found: dict[str, int] = {}
    for root in roots:
        for path, size in containers(root):
            key = f"{type(root).__name__}{path}"
            found[key] = max(found.get(key, 0), size)
    return found


async def _live(rounds: int, pods: int) -> list[tuple[dict[str, int], int]]:
    writer = Writer()
    recorder = Recorder(None, controller="ecotone", instance="test")  # type: ignore[arg-type]
    settings = SchedulerSettings({"ecotone": resolve("ecotone")})
    scheduler = Scheduler(settings, writer=writer, recorder=recorder, explain=lambda *_: {})
    scheduler.records = DecisionRecords(limit=pods, views=2)
    left_out = LeftOut()
    store = ObjectStore(scheduler.cache)
    store.interner.least = store.interner.full_at = 2 * pods
    sink = KindSink("Pod", store, left_out)
    for number in range(NODES):
        scheduler.cache.put_node(node(f"n{number}", cpu="100", latencies={"n0": 1.0 + number}))
    scheduler.start_term()
    task = asyncio.create_task(scheduler.run())
    found = []
    for each in range(rounds):
        numbers = range(each * pods, (each + 1) * pods)
        for number in numbers:
            sink.upsert(own_pod(number))
        async with asyncio.timeout(120):
            while len(writer.bound) + len(writer._told) < pods:
                await asyncio.sleep(0.001)
        for number in numbers:
            where = writer.bound.pop(f"p{number}", "")
            if where:
                sink.upsert(own_pod(number, where=where))
        for number in numbers:
            sink.remove(f"tenant/p{number}", f"u{number}")
        await asyncio.sleep(0)
        gc.collect()
        found.append((sizes(scheduler, store, writer, recorder, left_out), len(gc.get_objects())))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not left_out.counts
    return found


def _assert_flat(found: list[tuple[dict[str, int], int]], pods: int) -> None:
    half = len(found) // 2
    early, late = found[2:half], found[half:]
    names = {name for each, _ in found for name in each}
    assert len(names) > 30, "the walk found the caches"
    grown = {}
    for name in sorted(names):
        before = max(each.get(name, 0) for each, _ in early)
        after = max(each.get(name, 0) for each, _ in late)
        # What fills up and starts over is caught at different heights; a leak has doubled in the second half.
        if after > 1.5 * before + 2 * pods:
            grown[name] = (before, after)
    assert not grown
    assert max(count for _, count in late) <= max(count for _, count in early) + 10 * pods


def test_pods_with_everything_of_their_own_leave_no_entry_in_any_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NodeTable, "most_answers", 64)
    _assert_flat(asyncio.run(_live(14, 60)), 60)


@pytest.mark.slow
def test_thirty_rounds_of_a_thousand_pods() -> None:
    _assert_flat(asyncio.run(_live(30, 1000)), 1000)
