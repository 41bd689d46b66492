"""What the monitor keeps of the objects it mirrors: what came and went leaves nothing behind."""

from __future__ import annotations

import msgspec

from ecotone.services.monitor.watched import REMEMBERED_PODS, Pod, ReplicaSet, Watched


def pod(name: str, namespace: str) -> Pod:
    return msgspec.convert({"metadata": {"name": name, "namespace": namespace}}, type=Pod)


def replica_set(owner: str) -> ReplicaSet:
    owners = [{"kind": "Deployment", "name": owner, "uid": f"uid-{owner}", "controller": True}]
    given = {"metadata": {"name": "rs", "namespace": "ns", "ownerReferences": owners}}
    return msgspec.convert(given, type=ReplicaSet)


def test_namespaces_that_came_and_went_are_forgotten_and_gone_pods_are_bounded() -> None:
    pods = Watched().pods
    for number in range(REMEMBERED_PODS + 500):
        namespace = f"ns-{number}"
        pods.upsert(pod("p", namespace))
        pods.remove(f"{namespace}/p", "")
    assert not pods._spaces and not pods.items
    assert len(pods._gone) == REMEMBERED_PODS


def test_a_replica_set_has_the_owner_it_names_now() -> None:
    store = Watched().replica_sets
    store.upsert(replica_set("a"))
    store.upsert(replica_set("b"))
    assert store.owned_by("uid-a") == [] and len(store.owned_by("uid-b")) == 1
    store.remove("ns/rs", "")
    assert store.owned_by("uid-b") == [] and not store._owned
