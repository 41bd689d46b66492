from ecotone.manifests.reading.nodes import to_node
from ecotone.manifests.reading.storage import to_claim, to_storage_class, to_volume
from ecotone.manifests.reading.workloads import to_workload
from ecotone.model.objects import Measured, WorkloadKey
from ecotone.model.selectors import LabelSelector, NodeAffinity, NodeTerm, Requirement, Taint
from manifests.builders import node, thing, typed


def test_a_node_with_everything():
    found = to_node(
        typed(
            thing(
                "Node",
                "edge-1",
                labels={"ecotone.dev/tier": "edge", "ecotone.dev/price-per-hour": "0.25", "zone": "a"},
                annotations={
                    "ecotone.dev/available-cpu": "1500m",
                    "available-memory": "512",
                    "ecotone.dev/latencies": '{"edge-2": 4.5}',
                    "ecotone.dev/measured-at": "1970-01-01T00:01:00Z",
                    "ecotone.dev/coordinates": '{"vector": [1, 2]}',
                    "network-bandwidth.edge-2": "1000",
                    "packet-loss.edge-2": "1",
                },
                spec={"unschedulable": True, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
                status={
                    "allocatable": {"cpu": "3920m", "memory": "7Gi", "pods": "110", "example.com/gpu": "2"},
                    "conditions": [
                        {"type": "MemoryPressure", "status": "False"},
                        {"type": "Ready", "status": "Unknown"},
                    ],
                    "images": [{"names": ["a:1", "a@sha256:0"], "sizeBytes": 5}],
                    "declaredFeatures": ["x"],
                },
            )
        )
    )
    assert found.allocatable == {"cpu": 3920, "memory": 7 * 2**30, "pods": 110, "example.com/gpu": 2}
    assert (found.tier, found.price_per_hour, found.unschedulable, found.ready) == ("edge", 0.25, True, False)
    assert found.taints == (Taint("k", "v", "NoExecute"),)
    assert found.images == {"a:1": 5, "a@sha256:0": 5}
    assert (found.available_cpu, found.available_memory, found.measured_at) == (1500.0, 512 * 2.0**20, 60.0)
    assert (found.latencies, found.bandwidths, found.losses) == ({"edge-2": 4.5}, {"edge-2": 1000.0}, {"edge-2": 0.01})
    assert found.coordinates.vector == (1.0, 2.0)
    assert found.declared_features == {"x"}


def test_a_plain_node():
    found = to_node(typed(node("n")))
    assert found.ready and found.tier is None and found.price_per_hour == 0.0
    assert found.available_cpu is found.latencies is found.measured_at is found.coordinates is None


def test_capacity_stands_in_for_allocatable():
    assert to_node(typed(thing("Node", "n", status={"capacity": {"cpu": "2"}}))).allocatable == {"cpu": 2000}


def test_sibling_labels_of_old_count_and_annotations_win():
    found = to_node(typed(node("n", labels={"available-cpu": "9", "l-m": "3"}, annotations={"available-cpu": "7"})))
    assert (found.available_cpu, found.latencies) == (7.0, {"m": 3.0})


def test_a_deployment_with_everything():
    found = to_workload(
        "Deployment",
        typed(
            thing(
                "Deployment",
                "web",
                namespace="shop",
                labels={"app-group": "g"},
                annotations={
                    "ecotone.dev/cpu-usage": "20m",
                    "memory-usage": "1",
                    "ecotone.dev/traffic": '{"db": 5, "users@edge-1": 7}',
                    "ecotone.dev/measured-at": "1970-01-01T00:00:01Z",
                },
                spec={
                    "replicas": 3,
                    "selector": {"matchLabels": {"app": "web"}},
                    "template": {
                        "metadata": {
                            "labels": {"app": "web", "ecotone.dev/index": "0"},
                            "annotations": {
                                "ecotone.dev/affinity": '{"db": 100}',
                                "ecotone.dev/protocols": '{"db": "TCP"}',
                                "ecotone.dev/deadlines": '{"db": 200}',
                                "ecotone.dev/external": "true",
                            },
                        }
                    },
                },
            )
        ),
    )
    assert found.key == WorkloadKey("shop", "web", "Deployment")
    assert (found.replicas, found.app_group, found.index, found.external) == (3, "g", 0, True)
    assert found.selector == LabelSelector((Requirement("app", "In", ("web",)),))
    assert (found.cpu_usage, found.memory_usage) == (Measured(20.0, 1.0), Measured(2.0**20, 1.0))
    assert found.traffic == {"db": 5.0, "users@edge-1": 7.0}
    assert (found.affinity, found.synchronous, found.deadlines) == ({"db": 100.0}, {"db": True}, {"db": 200.0})


def test_replicas_left_out():
    assert to_workload("Deployment", typed(thing("Deployment", "a"))).replicas == 1
    assert to_workload("DaemonSet", typed(thing("DaemonSet", "a"))).replicas is None
    assert to_workload("Job", typed(thing("Job", "a", spec={"parallelism": 4}))).replicas == 4


def test_claims_volumes_and_classes():
    old = thing(
        "PersistentVolumeClaim",
        "c",
        annotations={"volume.beta.kubernetes.io/storage-class": "gold"},
        deletionTimestamp="1970-01-01T00:00:01Z",
    )
    assert (to_claim(typed(old)).storage_class, to_claim(typed(old)).deleting) == ("gold", True)
    assert to_volume(typed(thing("PersistentVolume", "v"))).node_affinity == NodeAffinity()
    topologies = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]
    found = to_storage_class(typed(thing("StorageClass", "s", allowedTopologies=topologies)))
    assert found.topologies == (
        NodeAffinity(required=(NodeTerm(expressions=(Requirement("zone", "In", ("a", "b")),)),)),
    )
    assert not found.waits_for_consumer
