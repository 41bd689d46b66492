"""Objects one by one: whatever the order, the same cluster."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ecotone.manifests.store import ObjectStore
from ecotone.model.errors import InputError
from ecotone.model.objects import WorkloadKey
from ecotone.model.selectors import Requirement
from ecotone.model.state import ClusterState
from manifests.builders import node, owned, pod, thing, typed, wired


def store(*things):
    found = ObjectStore(ClusterState())
    found.load(wired(*things))
    return found


def workload_of(found, key):
    return found.sink.find_pod(key).kind.workload


REPLICA_SET = thing("ReplicaSet", "web-5d", ownerReferences=owned("Deployment", "web"))
DEPLOYMENT = thing("Deployment", "web", labels={"app-group": "shop"}, annotations={"ecotone.dev/traffic": '{"db": 10}'})
WEB = pod("web-5d-x", ownerReferences=owned("ReplicaSet", "web-5d"), spec={"nodeName": "n1"})


def test_a_pod_belongs_to_its_replica_sets_deployment():
    found = store(WEB, REPLICA_SET, DEPLOYMENT, node("n1"))
    assert workload_of(found, "default/web-5d-x") == WorkloadKey("default", "web", "Deployment")
    assert found.sink.find_pod("default/web-5d-x").kind.app_group == "shop"
    assert found.sink.workloads[WorkloadKey("default", "web")].traffic == {"db": 10.0}


def test_owners_that_come_later_are_heard():
    found = ObjectStore(ClusterState())
    found.put("Node", typed(node("n1")))
    found.put("Pod", typed(WEB))
    assert workload_of(found, "default/web-5d-x") == WorkloadKey("default", "web-5d", "ReplicaSet")
    found.put("ReplicaSet", typed(REPLICA_SET))
    assert workload_of(found, "default/web-5d-x") == WorkloadKey("default", "web", "Deployment")
    assert found.sink.find_pod("default/web-5d-x").kind.app_group is None
    found.put("Deployment", typed(DEPLOYMENT))
    assert found.sink.find_pod("default/web-5d-x").kind.app_group == "shop"
    found.drop("ReplicaSet", "default/web-5d")
    assert workload_of(found, "default/web-5d-x") == WorkloadKey("default", "web-5d", "ReplicaSet")
    assert int(found.sink.usage.pod_count[0]) == 1


def test_without_replica_sets_the_template_hash_tells_the_deployment():
    found = store(pod("web-5d-x", labels={"pod-template-hash": "5d"}, ownerReferences=owned("ReplicaSet", "web-5d")))
    assert workload_of(found, "default/web-5d-x") == WorkloadKey("default", "web", "Deployment")


def test_an_operators_resource_above_a_deployment_is_not_the_workload():
    owner = thing("Deployment", "web", ownerReferences=owned("Kafka", "cluster"))
    assert workload_of(store(WEB, REPLICA_SET, owner), "default/web-5d-x").kind == "Deployment"


def test_jobs_of_a_cron_job_and_others():
    found = store(
        thing("Job", "night-1", ownerReferences=owned("CronJob", "night")),
        pod("a", ownerReferences=owned("Job", "night-1")),
        pod("b", ownerReferences=owned("StatefulSet", "db")),
        pod("c", ownerReferences=owned("DaemonSet", "log")),
        pod("d", ownerReferences=owned("ReplicationController", "old")),
    )
    found_kinds = {name: workload_of(found, f"default/{name}") for name in "abcd"}
    assert [str(key) for key in found_kinds.values()] == ["default/night", "default/db", "default/log", "default/old"]
    assert [key.kind for key in found_kinds.values()] == [
        "CronJob",
        "StatefulSet",
        "DaemonSet",
        "ReplicationController",
    ]


@pytest.mark.parametrize(
    "things",
    [
        [thing("ReplicaSet", "a", ownerReferences=owned("ReplicaSet", "a"))],
        [
            thing("ReplicaSet", "a", ownerReferences=owned("Deployment", "b")),
            thing("Deployment", "b", ownerReferences=owned("ReplicaSet", "a")),
        ],
    ],
)
def test_owners_in_a_circle_end_where_they_began(things):
    found = store(*things, pod("p", ownerReferences=owned("ReplicaSet", "a")))
    assert workload_of(found, "default/p").name in ("a", "b")


def test_a_bare_pod_belongs_to_its_app_within_its_group_else_to_itself():
    both = {"app": "db", "app-group": "shop"}
    found = store(pod("a", labels=both), pod("b", labels=both), pod("c", labels={"app": "db"}), pod("d"))
    assert (
        workload_of(found, "default/a") == workload_of(found, "default/b") == WorkloadKey("default", "db", "App/shop")
    )
    assert workload_of(found, "default/c") == WorkloadKey("default", "c", "Pod")
    assert workload_of(found, "default/d") == WorkloadKey("default", "d", "Pod")


def test_same_app_in_two_groups_is_two_workloads():
    one = pod("a", labels={"app": "db", "app-group": "g1"})
    two = pod("b", labels={"app": "db", "app-group": "g2"})
    found = store(one, two)
    assert workload_of(found, "default/a") != workload_of(found, "default/b")


def test_bare_pods_speak_for_their_workload():
    labels = {"app": "web", "app-group": "shop", "index": "1"}
    found = store(
        pod("b", labels=labels, annotations={"ecotone.dev/traffic": '{"db": 5}', "ecotone.dev/affinity": '{"db": 80}'}),
        pod("a", labels=labels, annotations={"ecotone.dev/cpu-usage": "30m"}),
    )
    workload = found.sink.workloads[WorkloadKey("default", "web", "App/shop")]
    assert (workload.traffic, workload.affinity, workload.index) == ({"db": 5.0}, {"db": 80.0}, 1)
    assert workload.cpu_usage.value == 30.0
    assert workload.replicas == 2
    found.drop("Pod", "default/b")
    assert found.sink.workloads[WorkloadKey("default", "web", "App/shop")].traffic is None
    found.drop("Pod", "default/a")
    assert not found.sink.workloads


def test_a_bare_pod_joins_a_deployment_of_its_app_and_group():
    found = ObjectStore(ClusterState())
    found.put("Pod", typed(pod("a", labels={"app": "web", "app-group": "shop"})))
    found.put("Deployment", typed(DEPLOYMENT))
    assert workload_of(found, "default/a") == WorkloadKey("default", "web", "Deployment")
    found.drop("Deployment", "default/web")
    assert workload_of(found, "default/a").kind == "App/shop"


def test_the_rest_of_a_cluster():
    found = store(
        thing("PodDisruptionBudget", "b", spec={"selector": {}}, status={"disruptionsAllowed": 2}),
        thing("Service", "s", spec={"selector": {"app": "a"}}),
        thing("Service", "headless", spec={}),
        thing("Namespace", "x", labels={"team": "t"}),
        thing("PersistentVolumeClaim", "c", spec={"volumeName": "v", "accessModes": ["ReadWriteOnce"]}),
        thing("StorageClass", "sc", provisioner="p", volumeBindingMode="WaitForFirstConsumer"),
        thing("NetworkMap", "m", spec={"topologyKey": "zone", "rtt": {"a": {"b": 10, "c": None}}}),
        thing("AppGroup", "g", spec={"name": "shop"}),
        thing("Cluster", "k", spec={"runPeriod": 10}),
        thing(
            "Reservation",
            "r",
            spec={"workload": "web", "node": "n", "resources": {"cpu": "1"}, "expires": "1970-01-01T00:00:09Z"},
        ),
        thing(
            "PersistentVolume",
            "v",
            labels={"zone": "a"},
            spec={
                "capacity": {"storage": "1Gi"},
                "claimRef": {"namespace": "default", "name": "c"},
                "csi": {"driver": "d", "volumeHandle": "h"},
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
                },
            },
        ),
    )
    state = found.sink
    assert [(each.name, each.allowed) for each in state.budgets] == [("b", 2)]
    assert [each.name for each in state.services] == ["s"]
    assert state.namespaces["x"] == {"kubernetes.io/metadata.name": "x", "team": "t"}
    assert state.claims["default/c"].volume == "v"
    assert state.volumes["v"].node_affinity.required[0].expressions == (Requirement("zone", "Exists"),)
    assert (state.volumes["v"].claim, state.volumes["v"].driver, state.volumes["v"].capacity) == (
        "default/c",
        "d",
        2**30,
    )
    assert state.storage_classes["sc"].waits_for_consumer
    assert state.maps[0].rtt == {"a": {"b": 10.0}}
    assert state.reservations[0].workload == WorkloadKey("default", "web", "Deployment")
    assert (state.reservations[0].requests, state.reservations[0].expires) == ((("cpu", 1000),), 9.0)
    assert list(found.app_groups) == ["default/g"] and list(found.clusters) == ["k"]
    for kind, key in [
        ("PodDisruptionBudget", "default/b"),
        ("Service", "default/s"),
        ("Namespace", "x"),
        ("PersistentVolumeClaim", "default/c"),
        ("PersistentVolume", "v"),
        ("StorageClass", "sc"),
        ("NetworkMap", "m"),
        ("Reservation", "default/r"),
        ("AppGroup", "default/g"),
        ("Cluster", "k"),
    ]:
        found.drop(kind, key)
    left = (state.budgets, state.services, state.namespaces, state.claims, state.volumes, state.storage_classes)
    assert not any(left) and not state.maps and not state.reservations and not found.app_groups and not found.clusters


def test_a_kubelet_without_any_driver_writes_null():
    found = store(node("n1"), thing("CSINode", "n1", spec={"drivers": None}))
    assert found.sink.nodes.nodes[0].attachable == {}


def test_a_nodes_volume_limits_come_from_its_csi_node_whenever_it_arrives():
    csi = thing("CSINode", "n1", spec={"drivers": [{"name": "d", "allocatable": {"count": 3}}, {"name": "e"}]})
    late, early = ObjectStore(ClusterState()), ObjectStore(ClusterState())
    late.put("Node", typed(node("n1")))
    late.put("CSINode", typed(csi))
    early.put("CSINode", typed(csi))
    early.put("Node", typed(node("n1")))
    assert late.sink.nodes.nodes[0].attachable == early.sink.nodes.nodes[0].attachable == {"d": 3}
    late.drop("CSINode", "n1")
    assert late.sink.nodes.nodes[0].attachable == {}


def test_classes_and_controllers_can_go():
    found = store(thing("PriorityClass", "u", value=5), thing("CronJob", "c"), node("n1"))
    found.drop("PriorityClass", "u")
    found.drop("CronJob", "default/c")
    found.drop("Node", "n1")
    found.put("Pod", typed(pod("p", spec={"priorityClassName": "u"})))
    assert found.sink.find_pod("default/p").spec.priority == 0
    assert not len(found.sink.nodes)


def test_a_finished_pod_is_forgotten():
    found = store(node("n1"), WEB)
    found.put("Pod", typed({**WEB, "status": {"phase": "Succeeded"}}))
    assert found.sink.find_pod("default/web-5d-x") is None
    assert int(found.sink.usage.pod_count[0]) == 0


def test_an_object_needs_a_name():
    with pytest.raises(InputError, match=r"Pod without metadata\.name"):
        store(pod(""))


def test_a_replica_set_that_is_adopted_is_no_workload_any_more():
    found = store(thing("ReplicaSet", "web-5d"))
    assert len(found.sink.workloads) == 1
    found.put("ReplicaSet", typed(REPLICA_SET))
    assert not found.sink.workloads


def test_kinds_no_longer_in_use_are_let_go():
    found = ObjectStore(ClusterState())
    found.interner.least = found.interner.full_at = 4
    for number in range(20):
        found.put("Pod", typed(pod("p", labels={"v": str(number)})))
    assert len(found.interner.kinds) <= 5


OBJECTS = [
    node("n1"),
    node("n2", cpu="8"),
    node("n1", cpu="2", annotations={"ecotone.dev/latencies": '{"n2": 5}'}),
    REPLICA_SET,
    DEPLOYMENT,
    thing("Deployment", "web", labels={"app-group": "other"}),
    WEB,
    pod("web-5d-y", ownerReferences=owned("ReplicaSet", "web-5d")),
    pod("web-5d-y", ownerReferences=owned("ReplicaSet", "web-5d"), spec={"nodeName": "n2"}),
    pod("bare", labels={"app": "web", "app-group": "shop"}, annotations={"cpu-usage": "5"}, spec={"nodeName": "n1"}),
    pod("bare-2", labels={"app": "web", "app-group": "shop"}, annotations={"traffic.db": "5"}),
    pod("bare", cpu="2", spec={"nodeName": "nowhere"}),
    thing("CSINode", "n1", spec={"drivers": [{"name": "d", "allocatable": {"count": 3}}]}),
]
KEYS = [
    ("Node", "n1"),
    ("ReplicaSet", "default/web-5d"),
    ("Deployment", "default/web"),
    ("Pod", "default/web-5d-x"),
    ("Pod", "default/web-5d-y"),
    ("Pod", "default/bare"),
    ("CSINode", "n1"),
]
steps = st.lists(st.sampled_from(OBJECTS) | st.sampled_from(KEYS), max_size=25)


def picture(state):
    nodes = sorted(state.nodes.nodes, key=lambda each: each.name)
    pods = sorted((*state.usage.pods(), *state.homeless.values(), *state.pending.values()), key=lambda each: each.key)
    usage = {
        name: (state.usage.requested[row].tolist(), int(state.usage.pod_count[row]))
        for name, row in state.nodes.index.items()
    }
    return nodes, pods, usage, dict(sorted(state.workloads.items())), sorted(state.pending), sorted(state.homeless)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_any_way_to_a_cluster_gives_what_loading_it_at_once_gives(sequence):
    live = ObjectStore(ClusterState())
    left: dict[Any, Any] = {}
    for step in sequence:
        if isinstance(step, tuple):
            live.drop(*step)
            left.pop(step, None)
        else:
            live.put(step["kind"], typed(step))
            name = step["metadata"]["name"]
            key = name if step["kind"] in ("Node", "CSINode") else f"default/{name}"
            left[step["kind"], key] = step
    assert picture(live.sink) == picture(store(*left.values()).sink)
