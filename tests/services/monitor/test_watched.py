"""What the monitor keeps of the objects it mirrors: what came and went leaves nothing behind."""

from __future__ import annotations

import msgspec

from ecotone.services.monitor.watched import REMEMBERED_PODS, Node, Pod, ReplicaSet, Watched
from ecotone.telemetry.refs import Ref


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


def node(name: str, address: str, port: int | None = None) -> Node:
    status: dict[str, object] = {"addresses": [{"type": "InternalIP", "address": address}]}
    if port is not None:
        status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": port}}
    return msgspec.convert({"metadata": {"name": name}, "status": status}, type=Node)


def test_a_kubelet_is_known_by_its_nodes_address_and_the_port_it_tells() -> None:
    watched = Watched()
    for one in (node("a", "10.0.0.1"), node("b", "10.0.0.2", 10251), node("c", "10.0.0.3"), node("d", "10.0.0.3")):
        watched.nodes.upsert(one)
    assert watched.kubelet_at("10.0.0.1", 10250) == "a"
    assert watched.kubelet_at("10.0.0.1", 10251) is None
    assert watched.kubelet_at("10.0.0.2", 10251) == "b"
    assert watched.kubelet_at("10.0.0.3", 10250) is None, "two nodes say that they are there"
    watched.nodes.upsert(node("a", "10.0.0.9"))
    assert watched.kubelet_at("10.0.0.1", 10250) is None
    watched.nodes.remove("d", "")
    assert watched.kubelet_at("10.0.0.3", 10250) == "c"
    for name in ("a", "b", "c"):
        watched.nodes.remove(name, "")
    assert not watched.nodes._kubelets


def test_where_a_pod_is_reached_is_what_the_api_server_says() -> None:
    watched = Watched()
    given = {
        "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web"}},
        "spec": {"nodeName": "a", "hostNetwork": True, "containers": [{"ports": [{"containerPort": 9100}]}, {}]},
        "status": {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]},
    }
    watched.pods.upsert(msgspec.convert(given, type=Pod))
    lives = watched.inhabitant("ns", "p")
    assert lives is not None and lives.workload == Ref("ns", "web") and lives.node == "a"
    assert set(lives.addresses) == {"10.0.0.1", "fd00::1"} and lives.on_node_network and lives.ports == (9100,)
    assert watched.inhabitant("ns", "other") is None
