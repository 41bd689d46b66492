"""A dumped snapshot, read back: the same cluster, the same decisions."""

import json
from dataclasses import replace

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ecotone.manifests.files import read_paths
from ecotone.manifests.writing.snapshot import snapshot_documents
from ecotone.manifests.yaml.positions import load_documents
from ecotone.manifests.yaml.text import yaml_text
from ecotone.model.decisions import Bind
from ecotone.model.objects import Coordinates, Measured, WorkloadKey
from ecotone.model.state import ClusterState
from ecotone.scheduling import POLICIES, decide
from manifests.builders import node, owned, pod, snapshot_of, thing

RICH_POD = pod(
    "rich",
    namespace="shop",
    uid="u-1",
    labels={
        "app": "rich",
        "app-group": "g",
        "ecotone.dev/index": "2",
        "ecotone.dev/role": "message-queue",
        "sha": "12e5",
    },
    annotations={
        "ecotone.dev/max-latency": "12.5ms",
        "ecotone.dev/traffic": '{"web": 5.5, "users@n1": 1}',
        "ecotone.dev/affinity": '{"web": 80}',
        "controller.kubernetes.io/pod-deletion-cost": "9",
    },
    creationTimestamp="2026-01-01T00:00:00.125Z",
    spec={
        "containers": [
            {"name": "a", "image": "a", "ports": [{"containerPort": 1, "hostPort": 8080, "hostIP": "10.0.0.1"}]},
            {"name": "b", "image": "b:2", "resources": {"requests": {"cpu": "250m", "example.com/gpu": 1}}},
        ],
        "initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"memory": "1Gi"}}}],
        "nodeSelector": {"disk": "ssd"},
        "priority": 7,
        "preemptionPolicy": "Never",
        "schedulerName": "ecotone",
        "schedulingGates": [{"name": "g"}],
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "terminationGracePeriodSeconds": 5,
        "resourceClaims": [{"name": "x", "resourceClaimName": "gpu"}],
        "volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "b", "emptyDir": {}},
            {"name": "c", "gcePersistentDisk": {"pdName": "d", "readOnly": True}},
            {"name": "d", "awsElasticBlockStore": {"volumeID": "v"}},
            {"name": "e", "iscsi": {"iqn": "i"}},
            {"name": "f", "rbd": {"monitors": ["m"], "image": "i", "pool": "p"}},
            {"name": "g", "image": {"reference": "data:1"}},
        ],
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "rich"}},
                "minDomains": 2,
                "matchLabelKeys": ["app-group"],
            }
        ],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]}
                    ]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 5, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}
                ],
            },
            "podAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": {}}
                ]
            },
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 9, "podAffinityTerm": {"topologyKey": "zone", "matchLabelKeys": ["app"]}}
                ]
            },
        },
    },
)
CLUSTER = [
    node(
        "n1",
        labels={"ecotone.dev/tier": "edge", "ecotone.dev/price-per-hour": "0.1", "zone": "a", "disk": "ssd"},
        annotations={
            "ecotone.dev/available-cpu": "1234.5678m",
            "ecotone.dev/available-memory": "3Gi",
            "ecotone.dev/latencies": '{"n2": 12.34567890123}',
            "ecotone.dev/measured-at": "2026-01-01T00:00:01.5Z",
            "ecotone.dev/coordinates": '{"vector": [1.5, -2], "height": 0.25, "error": 0.5}',
            "packet-loss.n2": "3",
            "network-bandwidth.n2": "1000",
        },
        spec={"taints": [{"key": "k", "effect": "NoSchedule"}], "unschedulable": False},
    ),
    node("n2", labels={"zone": "b"}, spec={"unschedulable": True}),
    node("n3", labels={"zone": "b", "disk": "ssd"}),
    thing("CSINode", "n1", spec={"drivers": [{"name": "d", "allocatable": {"count": 2}}]}),
    thing("Namespace", "shop", labels={"team": "x"}),
    thing("Deployment", "web", namespace="shop", labels={"app-group": "g"}, annotations={"cpu-usage": "10.5"}),
    thing("ReplicaSet", "web-1", namespace="shop", ownerReferences=owned("Deployment", "web")),
    thing("StatefulSet", "db", namespace="shop", spec={"replicas": 2, "selector": {"matchLabels": {"app": "db"}}}),
    pod(
        "web-1-a",
        namespace="shop",
        ownerReferences=owned("ReplicaSet", "web-1"),
        spec={"nodeName": "n1"},
        status={
            "phase": "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"},
                {"type": "Ready", "status": "True"},
            ],
        },
    ),
    pod("web-1-b", namespace="shop", cpu="500m", ownerReferences=owned("ReplicaSet", "web-1")),
    pod("db-0", namespace="shop", ownerReferences=owned("StatefulSet", "db"), spec={"nodeName": "gone"}),
    pod("log-n1", namespace="shop", ownerReferences=owned("DaemonSet", "log"), spec={"nodeName": "n3"}),
    pod("static-n1", ownerReferences=owned("Node", "n1"), spec={"nodeName": "n1"}),
    pod("leaving", deletionTimestamp="2026-01-01T00:00:00Z", spec={"nodeName": "n3"}),
    RICH_POD,
    pod("free", namespace="shop", cpu=None, labels={"app": "free"}, status={"nominatedNodeName": "n3"}),
    thing("PodDisruptionBudget", "b", namespace="shop", spec={"selector": {}}, status={"disruptionsAllowed": 2}),
    thing("Service", "web", namespace="shop", spec={"selector": {"app": "web"}}),
    thing("PersistentVolumeClaim", "data", namespace="shop", spec={"volumeName": "v", "storageClassName": "s"}),
    thing(
        "PersistentVolume",
        "v",
        labels={"zone": "a"},
        spec={
            "capacity": {"storage": "1Gi"},
            "claimRef": {"namespace": "shop", "name": "data"},
            "csi": {"driver": "d"},
            "storageClassName": "s",
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]}
            },
        },
    ),
    thing(
        "StorageClass",
        "s",
        provisioner="d",
        volumeBindingMode="WaitForFirstConsumer",
        allowedTopologies=[{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}],
    ),
    thing("NetworkMap", "m", spec={"topologyKey": "zone", "rtt": {"a": {"b": 40.5}}}),
    thing(
        "Reservation",
        "r",
        namespace="shop",
        spec={"workload": "web", "node": "n3", "resources": {"cpu": "1"}, "expires": "2026-01-02T00:00:00Z"},
    ),
]


def dumped(tmp_path, snapshot, *, as_json=False):
    file = tmp_path / ("again.json" if as_json else "again.yaml")
    documents = snapshot_documents(snapshot)
    listed = {"apiVersion": "v1", "kind": "List", "items": documents}
    file.write_text(json.dumps(listed) if as_json else yaml_text(documents))
    return read_paths([file])


def assert_same(one, two):
    for name in ("now", "max_age", "seed", "maps", "budgets", "services", "namespaces", "claims", "volumes"):
        assert getattr(one, name) == getattr(two, name), name
    for name in ("storage_classes", "reservations", "last_moves", "memory", "workloads", "pending", "homeless"):
        assert getattr(one, name) == getattr(two, name), name
    assert one.nodes.nodes == two.nodes.nodes
    assert list(one.pods()) == list(two.pods())
    assert np.array_equal(one.usage.requested, two.usage.requested)
    assert one.usage.recent_keys == two.usage.recent_keys


@pytest.mark.parametrize("as_json", [False, True])
def test_everything_comes_back(tmp_path, as_json):
    snapshot = snapshot_of(tmp_path, *CLUSTER, seed=5, max_age=60.0)
    state = ClusterState.of(snapshot)
    state.memory = {"RoundRobin": "n1", "descheduling": {"shop/web": {"n1": 3.25}}}
    state.last_moves = {WorkloadKey("shop", "web"): 12.125}
    state.assume(state.pending["shop/web-1-b"], "n3")
    assert_same(state.freeze(), dumped(tmp_path, state.freeze(), as_json=as_json))


def test_a_dump_of_a_dump_is_the_same_text(tmp_path):
    snapshot = snapshot_of(tmp_path, *CLUSTER)
    once = yaml_text(snapshot_documents(snapshot))
    assert yaml_text(snapshot_documents(dumped(tmp_path, snapshot))) == once


@pytest.mark.parametrize("policy", [name for name, profile in POLICIES.items() if profile.solver is None])
def test_a_dump_replays_to_the_same_decisions(tmp_path, policy):
    snapshot = snapshot_of(tmp_path, *CLUSTER, seed=3)
    decisions = decide(snapshot, policy)
    assert any(isinstance(each, Bind) for each in decisions.decisions)
    assert decide(dumped(tmp_path, snapshot), policy) == decisions


def test_a_snapshot_that_never_was_a_file(tmp_path):
    """Figures only a simulation has: fractions of a byte, times in the first minutes of 1970, no labels behind fields."""
    snapshot = snapshot_of(tmp_path, node("n1"), node("n2"), pod("p", labels={"app": "p", "app-group": "g"}))
    state = ClusterState.of(snapshot)
    state.now = 12.3456789012345
    measured = replace(
        snapshot.nodes.nodes[0],
        tier="edge",
        price_per_hour=1e-7,
        available_cpu=1 / 3,
        available_memory=1e9 / 7,
        measured_at=0.1 + 0.2,
        latencies={"n2": 1 / 7, "n9": float("nan")},
        coordinates=Coordinates((0.1, -1e-9), 1e-3, 0.0),
    )
    state.put_node(measured)
    key = WorkloadKey("default", "p", "App/g")
    told = replace(
        state.workloads[key], cpu_usage=Measured(0.1 + 0.7, 1.1), measured_at=1.1, traffic={}, synchronous={"q": False}
    )
    state.put_workload(replace(told, deadlines={"q": 1 / 3}, soft_deadlines={"r": 5.0}, external=True))
    again = dumped(tmp_path, state.freeze())
    node_again = again.nodes.nodes[0]
    assert (node_again.available_cpu, node_again.available_memory) == (1 / 3, 1e9 / 7)
    assert (node_again.measured_at, node_again.price_per_hour, node_again.tier) == (0.1 + 0.2, 1e-7, "edge")
    assert (node_again.latencies, node_again.coordinates) == ({"n2": 1 / 7}, measured.coordinates)
    assert again.now == 12.3456789012345
    workload = again.workloads[key]
    assert (workload.cpu_usage, workload.traffic) == (Measured(0.1 + 0.7, 1.1), {})
    assert (workload.synchronous, workload.deadlines, workload.external) == ({"q": False}, {"q": 1 / 3}, True)
    assert workload.soft_deadlines == {"r": 5.0}


def test_a_pod_whose_labels_do_not_say_what_its_kind_says(tmp_path):
    snapshot = snapshot_of(tmp_path, node("n1"), pod("p"))
    state = ClusterState.of(snapshot)
    odd = state.pending["default/p"]
    kind = replace(odd.kind, workload=WorkloadKey("default", "web"), index=3, role="r", app_group="g")
    state.put_pod(replace(odd, kind=kind, template_hash="h"))
    again = dumped(tmp_path, state.freeze()).pending["default/p"]
    assert (again.kind.workload, again.kind.index, again.kind.role) == (WorkloadKey("default", "web"), 3, "r")
    assert (again.kind.app_group, again.template_hash) == ("g", "h")


texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=12) | st.sampled_from(
    [
        "1e3",
        "0o17",
        "0x1F",
        "yes",
        "on",
        "~",
        "null",
        "1_000",
        "12:30",
        "2026-01-01",
        "007",
        ".5",
        "-",
        "=",
        "<<",
        "NaN",
        "true",
    ]
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(texts, texts | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(), max_size=6)
)
def test_yaml_text_reads_back_as_it_was_meant(given):
    (document,) = load_documents(yaml_text([given]), file="f")
    assert document.plain() == given


def test_dumped_yaml_is_ordinary_yaml(tmp_path):
    documents = snapshot_documents(snapshot_of(tmp_path, *CLUSTER))
    assert list(yaml.safe_load_all(yaml_text(documents))) == documents


def test_since_when_a_node_is_not_ready_survives_being_written_and_read(tmp_path):
    silent = node("n")
    silent["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "lastTransitionTime": "2026-01-01T00:00:10Z"}
    ]
    (read,) = snapshot_of(tmp_path, silent).nodes.nodes
    assert (read.ready, read.unready_since) == (False, 1767225610.0)
    assert list(snapshot_of(tmp_path, *snapshot_documents(snapshot_of(tmp_path, silent))).nodes.nodes) == [read]
    silent["status"]["conditions"][0]["lastTransitionTime"] = "yesterday"
    assert snapshot_of(tmp_path, silent).nodes.nodes[0].unready_since is None
