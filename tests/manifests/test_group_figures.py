"""Figures of a large group, which its AppGroup keeps for the workloads."""

from __future__ import annotations

from ecotone.manifests import keys, wire
from ecotone.manifests.store import ObjectStore
from ecotone.model.objects import Workload, WorkloadKey
from ecotone.model.state import ClusterState

WEB = WorkloadKey("shop", "web", "Deployment")
AT = "2026-01-31T12:00:00Z"


def deployment(**annotations: str) -> wire.Deployment:
    return wire.Deployment(metadata=wire.Metadata(name="web", namespace="shop", annotations=annotations))


def group(**texts: str) -> wire.AppGroup:
    return wire.AppGroup(
        metadata=wire.Metadata(name="all", namespace="shop"),
        spec=wire.AppGroupSpec(name="shop"),
        status={"workloads": {"Deployment/web": texts, "Deployment/odd": 1}} if texts else {"workloads": [1]},
    )


def told(traffic: int) -> wire.AppGroup:
    texts = {keys.TRAFFIC: f'{{"db": {traffic}}}', keys.CPU_USAGE: "120m", keys.MEASURED_AT: AT}
    return group(**texts)


def store_of(*objects: tuple[str, object]) -> ObjectStore[ClusterState]:
    store = ObjectStore(ClusterState())
    for kind, one in objects:
        store.put(kind, one)
    return store


def web(store: ObjectStore[ClusterState]) -> Workload:
    return store.sink.workloads[WEB]


def test_they_count_as_if_they_were_annotations_in_whatever_order_objects_come() -> None:
    for order in (("Deployment", "AppGroup"), ("AppGroup", "Deployment")):
        objects = {"Deployment": deployment(), "AppGroup": told(7)}
        found = web(store_of(*((kind, objects[kind]) for kind in order)))
        assert found.traffic == {"db": 7} and found.measured_at is not None
        assert found.cpu_usage is not None and found.cpu_usage.value == 120


def test_they_follow_the_status_and_survive_an_update_of_the_workload() -> None:
    store = store_of(("Deployment", deployment()), ("AppGroup", told(7)), ("AppGroup", told(9)))
    assert web(store).traffic == {"db": 9}
    store.put("Deployment", deployment(other="1"))
    assert web(store).traffic == {"db": 9}


def test_they_go_with_the_status_or_the_group() -> None:
    store = store_of(("Deployment", deployment()), ("AppGroup", told(7)), ("AppGroup", group()))
    assert web(store).traffic is None and web(store).measured_at is None
    store.put("AppGroup", told(7))
    store.drop("AppGroup", "shop/all")
    assert web(store).traffic is None


def test_what_stands_on_the_workload_comes_first() -> None:
    own = deployment(**{keys.TRAFFIC: '{"db": 1}', keys.MEASURED_AT: AT})
    assert web(store_of(("Deployment", own), ("AppGroup", told(7)))).traffic == {"db": 1}
