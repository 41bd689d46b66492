"""Whoever may write an AppGroup or a Deployment in one namespace stops the descheduler for nobody else."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from ecotone.manifests import wire
from ecotone.model.errors import InputError
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.scheduling.profiles.policies import resolve
from ecotone.services.descheduler.groups import LiveAppGroup
from ecotone.services.descheduler.settings import chosen
from ecotone.services.descheduler.surge import read_record
from hostile_objects import hostile_app_group
from services.descheduler.paper import Paper, fill
from services.descheduler.world import World, running, until
from services.fake_api import serving


def test_an_app_group_cannot_name_code_to_be_run(tmp_path: Path) -> None:
    file = tmp_path / "plugin.py"
    file.write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nclass Mine:\n    pass\n")
    spec = wire.AppGroupSpec(name="shop", descheduler=wire.DeschedulerSpec(policy=f"{file}:Mine"))
    group = wire.AppGroup(metadata=wire.Metadata(name="shop", namespace="ns"), spec=spec)
    with pytest.raises(InputError, match="unknown policy"):
        chosen(group, resolve("ecotone"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("forged", [{"pod": "front-1-0/eviction"}, {"target": "../nodes"}, {"replicas": -5}])
def test_a_forged_record_of_a_surge_is_none(forged: dict[str, Any]) -> None:
    honest = {"replicas": 2, "uid": "u", "pod": "front-1-0", "target": "near", "since": 1.0}
    assert read_record(msgspec.json.encode(honest).decode()) is not None
    assert read_record(msgspec.json.encode({**honest, **forged}).decode()) is None


def test_a_forged_record_of_a_surge_does_not_end_the_program() -> None:
    async def main() -> World:
        async with serving() as api:
            world = World(api)
            await world.build(descheduler={"coolDownSeconds": 0})
            (pod, *_) = world.pods("front")
            front = api.find("deployments", "front", "default")
            assert front is not None
            record = {
                "replicas": 2,
                "uid": pod["metadata"]["uid"],
                "pod": f"{pod['metadata']['name']}/eviction",
                "target": "near",
                "since": time.time(),
            }
            front["metadata"]["annotations"]["ecotone.dev/surge"] = msgspec.json.encode(record).decode()
            await api.put("deployments", front)
            async with running(world):
                await until(lambda: len(world.moves("Done")) == 2, what="both moves")
            return world

    assert asyncio.run(main()).where("front") == ["near", "near"]


def test_a_namespace_that_cannot_be_read_holds_up_no_other() -> None:
    async def main() -> World:
        async with serving() as api:
            world = World(api)
            await world.build(descheduler={"coolDownSeconds": 0})
            other = {"name": "a", "namespace": "aaa", "generation": 1}
            await api.put("appgroups", {"metadata": other, "spec": {"name": "a", "runPeriod": 1}})
            api.refused = lambda request: (
                (200, {"items": 7}) if request.path.endswith("/namespaces/aaa/deployments") else None
            )
            async with running(world):
                await until(lambda: len(world.moves("Done")) == 2, what="both moves")
            return world

    assert asyncio.run(main()).where("front") == ["near", "near"]


def test_random_app_groups_fail_for_themselves_and_leave_no_series_behind() -> None:
    paper = Paper()
    fill(paper, 3)
    luck = Random(1)
    readable = 0
    for number in range(150):
        given = hostile_app_group(luck, f"g{number}")
        try:
            group = msgspec.json.decode(msgspec.json.encode(given), type=LiveAppGroup)
        except msgspec.ValidationError:
            continue
        readable += 1
        paper.groups.upsert(group)
        paper.now += 1.0
        asyncio.run(paper.descheduler.tick())
        paper.groups.remove(f"{group.metadata.namespace}/{group.metadata.name}", "")
    assert readable > 100
    asyncio.run(paper.descheduler.tick())
    families = {each.name: each.samples for each in paper.descheduler.metrics.registry.collect()}
    assert families["ecotone_descheduler_breaker_open"] == []
    assert families["ecotone_descheduler_moves"] == []


def test_after_hostile_app_groups_an_innocent_one_is_served() -> None:
    paper = Paper()
    fill(paper, 3)
    luck = Random(2)
    for number in range(50):
        given = hostile_app_group(luck, f"g{number}")
        given["metadata"]["namespace"] = "tenant"
        try:
            paper.groups.upsert(msgspec.json.decode(msgspec.json.encode(given), type=LiveAppGroup))
        except msgspec.ValidationError:
            continue
    paper.group()
    asyncio.run(paper.descheduler.tick())
    assert paper.told
    assert all(" ns/" in line for line in paper.told), "only pods of the innocent namespace were there to move"


@pytest.mark.parametrize("promise", [{"edge_share": 0.5}, {"target_latency_ms": 1.0}])
def test_a_promise_of_one_tenant_moves_no_pods_of_another(promise: dict[str, Any]) -> None:
    """QoS targets are planned first and the rest by another rule: both only within the application whose round it is."""
    paper = Paper()
    fill(paper, 3)
    paper.cache.put_workload(Workload(WorkloadKey("tenant", "x"), app_group="mine", **promise))
    spec = {"name": "mine"}
    given = {"metadata": {"name": "mine", "namespace": "tenant"}, "spec": spec}
    paper.groups.upsert(msgspec.convert(given, type=LiveAppGroup))
    asyncio.run(paper.descheduler.tick())
    assert paper.told == []
    paper.group()
    paper.now += 60.0
    asyncio.run(paper.descheduler.tick())
    assert paper.told, "the scene has something to move"
