import pytest

from ecotone.manifests import wire
from ecotone.manifests.reading.pods import Interner, Priorities, image_name, to_pod
from ecotone.model.errors import InputError
from ecotone.model.objects import HostPort, WorkloadKey
from ecotone.model.selectors import EVERYTHING, NOTHING, LabelSelector, NodeTerm, Requirement, Toleration
from manifests.builders import pod, thing, typed

SELF = WorkloadKey("default", "p", "Pod")


def spec_of(spec=None, **fields):
    return read(spec, **fields).spec


def read(spec=None, *, interner=None, priorities=None, **fields):
    given = typed(pod("p", spec=spec or {}, **fields))
    options = {} if priorities is None else {"priorities": priorities}
    return to_pod(given, workload=SELF, interner=interner, **options)


def test_a_waiting_pod():
    found = read(labels={"b": "2", "a": "1"}, creationTimestamp="1970-01-01T00:00:10Z")
    assert (found.key, found.uid, found.node, found.created, found.phase) == (
        "default/p",
        "default/p",
        None,
        10.0,
        "Pending",
    )
    assert found.kind.labels == (("a", "1"), ("b", "2"))
    assert found.spec.requests == (("cpu", 100),)
    assert found.spec.images == ("app:1",)
    assert not found.ready and not found.deleting and not found.mirror


def test_a_running_pod_and_when_it_was_bound():
    conditions = [
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "1970-01-01T00:00:05Z"},
        {"type": "Ready", "status": "True"},
    ]
    found = read({"nodeName": "n"}, uid="u1", status={"phase": "Running", "conditions": conditions})
    assert (found.node, found.bound_at, found.ready, found.uid) == ("n", 5.0, True, "u1")
    started = read({"nodeName": "n"}, status={"phase": "Running", "startTime": "1970-01-01T00:00:07Z"})
    assert started.bound_at == 7.0


def test_what_only_pods_have():
    found = read(
        deletionTimestamp="1970-01-01T00:00:05Z",
        annotations={"controller.kubernetes.io/pod-deletion-cost": "-7", "ecotone.dev/max-latency": "50ms"},
        labels={
            "pod-template-hash": "5d",
            "ecotone.dev/role": "message-queue",
            "ecotone.dev/index": "2",
            "app-group": "g",
        },
        status={"nominatedNodeName": "n2"},
    )
    assert (found.deleting, found.deletion_cost, found.template_hash, found.nominated) == (True, -7, "5d", "n2")
    assert (found.kind.role, found.kind.index, found.kind.app_group) == ("message-queue", 2, "g")
    assert found.kind.max_latency_ms == 50.0
    assert read(annotations={"controller.kubernetes.io/pod-deletion-cost": "much"}).deletion_cost == 0
    assert read(annotations={"kubernetes.io/config.mirror": "x"}).mirror


def test_replicas_share_one_kind():
    interner = Interner()
    one, two = (to_pod(typed(pod(name)), workload=SELF, interner=interner) for name in ("a", "b"))
    assert one.kind is two.kind
    interner.keep([])
    three = to_pod(typed(pod("c")), workload=SELF, interner=interner)
    assert three.kind == one.kind and three.kind is not one.kind


def test_priorities_of_classes():
    urgent = typed(thing("PriorityClass", "urgent", value=1000, preemptionPolicy="Never"))
    usual = typed(thing("PriorityClass", "usual", value=5, globalDefault=True))
    classes = Priorities({"urgent": urgent, "usual": usual})
    assert (spec_of(priorities=classes).priority) == 5
    named = spec_of({"priorityClassName": "urgent"}, priorities=classes)
    assert (named.priority, named.preemption_policy) == (1000, "Never")
    resolved = spec_of({"priorityClassName": "urgent", "priority": 7}, priorities=classes)
    assert resolved.priority == 7
    assert spec_of({"priorityClassName": "system-node-critical"}).priority == 2_000_001_000
    assert spec_of({"priorityClassName": "nobody-knows"}).priority == 0


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1", "nginx:1"),
        ("host:5000/a/b", "host:5000/a/b:latest"),
        ("a@sha256:1", "a@sha256:1"),
    ],
)
def test_images_have_tags(given, name):
    assert image_name(given) == name


def test_images_of_every_container_and_image_volume():
    found = spec_of(
        {"initContainers": [{"image": "setup"}], "volumes": [{"name": "v", "image": {"reference": "data:2"}}]}
    )
    assert found.images == ("setup:latest", "app:1", "data:2")
    assert found.containers == 2


def test_host_ports():
    ports = [
        {"containerPort": 80, "hostPort": 8080},
        {"containerPort": 53, "hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"},
    ]
    found = spec_of({"containers": [{"ports": [*ports, {"containerPort": 1}]}]})
    assert found.host_ports == (HostPort(8080), HostPort(53, "UDP", "10.0.0.1"))
    network = spec_of({"hostNetwork": True, "containers": [{"ports": [{"containerPort": 443}]}]})
    assert network.host_ports == (HostPort(443),)
    lasting = {"restartPolicy": "Always", "ports": [{"hostPort": 9}]}
    passing = {"ports": [{"hostPort": 7}]}
    assert spec_of({"initContainers": [lasting, passing]}).host_ports == (HostPort(9),)


def test_volumes():
    found = spec_of(
        {
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "b", "ephemeral": {"volumeClaimTemplate": {}}},
                {"name": "c", "gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
                {"name": "d", "awsElasticBlockStore": {"volumeID": "vol-1"}},
                {"name": "e", "iscsi": {"iqn": "iqn.x", "targetPortal": "t", "lun": 0}},
                {"name": "f", "rbd": {"monitors": ["m2", "m1"], "image": "i"}},
                {"name": "g", "configMap": {"name": "c"}},
            ]
        }
    )
    assert found.claims == ("data", "p-b")
    assert found.restricted_volumes == ("aws-ebs:vol-1", "gce-pd:disk:ro", "iscsi:iqn.x", "rbd:rbd/i@m1,m2")
    assert not found.local_storage
    assert spec_of({"volumes": [{"name": "a", "emptyDir": {}}]}).local_storage
    assert spec_of({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}).local_storage


def test_gates_claims_grace_and_tolerations():
    found = spec_of(
        {
            "schedulingGates": [{"name": "wait/for-me"}],
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}, {"name": "x"}],
            "terminationGracePeriodSeconds": 5,
            "tolerations": [{"operator": "Exists"}, {"key": "k", "value": "v", "effect": "NoSchedule"}],
            "nodeSelector": {"disk": "ssd"},
            "schedulerName": "ecotone",
        }
    )
    assert found.gates == ("wait/for-me",)
    assert found.resource_claims == ("t", "x")
    assert found.grace_seconds == 5.0
    assert found.tolerations == (Toleration(operator="Exists"), Toleration("k", "Equal", "v", "NoSchedule"))
    assert found.node_selector == (("disk", "ssd"),)
    assert found.scheduler_name == "ecotone"


def test_node_affinity():
    required = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}]}
    wish = {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": required,
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": wish}],
        }
    }
    found = spec_of({"affinity": affinity}).node_affinity
    assert found.required == (NodeTerm(fields=(Requirement("metadata.name", "In", ("n",)),)),)
    assert found.preferred == (NodeTerm(expressions=(Requirement("cores", "Gt", ("4",)),), weight=3),)
    assert spec_of().node_affinity.required is None


def pod_term(**term):
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone", **term}]}}
    return spec_of({"affinity": affinity}, labels={"app": "a", "v": "1"}).pod_affinity.required[0]


def test_a_pod_term_speaks_of_its_own_namespace_unless_told_otherwise():
    assert pod_term(labelSelector={}).namespaces == {"default"}
    assert pod_term(labelSelector={}).namespace_selector == NOTHING
    assert pod_term(labelSelector={}, namespaces=["x"]).namespaces == {"x"}
    everywhere = pod_term(labelSelector={}, namespaceSelector={})
    assert (everywhere.namespaces, everywhere.namespace_selector) == (frozenset(), EVERYTHING)


def test_a_missing_selector_matches_nothing_and_an_empty_one_everything():
    assert pod_term().selector == NOTHING
    assert pod_term(labelSelector={}).selector == EVERYTHING
    assert pod_term(matchLabelKeys=["v"]).selector == NOTHING


def test_label_keys_mean_the_pods_own_values():
    found = pod_term(
        labelSelector={"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "x", "operator": "Exists"}]},
        matchLabelKeys=["v", "absent"],
        mismatchLabelKeys=["app"],
    )
    assert found.selector == LabelSelector(
        (
            Requirement("app", "In", ("a",)),
            Requirement("x", "Exists"),
            Requirement("v", "In", ("1",)),
            Requirement("app", "NotIn", ("a",)),
        )
    )


def test_preferred_pod_terms_have_weights():
    term = {"weight": 40, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {}}}
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    assert spec_of({"affinity": affinity}).pod_anti_affinity.preferred[0].weight == 40


def test_topology_spread():
    constraint = {
        "maxSkew": 2,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "minDomains": 3,
        "nodeTaintsPolicy": "Honor",
        "matchLabelKeys": ["v"],
    }
    (found,) = spec_of({"topologySpreadConstraints": [constraint]}, labels={"v": "1"}).spread
    assert (found.max_skew, found.min_domains, found.node_taints_policy) == (2, 3, "Honor")
    assert found.selector == LabelSelector((Requirement("app", "In", ("a",)), Requirement("v", "In", ("1",))))


def test_unknown_operators_and_actions_are_refused_with_a_suggestion():
    with pytest.raises(InputError, match=r"unknown operator 'in' \(did you mean `In`"):
        pod_term(labelSelector={"matchExpressions": [{"key": "x", "operator": "in"}]})
    with pytest.raises(InputError, match="DoNotSchedul"):
        constraint = {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedul"}
        spec_of({"topologySpreadConstraints": [constraint]})


def test_told_nonzero_requests_win_in_a_dumped_snapshot_and_nowhere_else():
    told = {"ecotone.dev/nonzero-requests": '{"cpu": 7, "memory": 9}'}
    assert read(annotations=told, interner=Interner(dumped=True)).spec.nonzero == (7, 9)
    assert spec_of(annotations=told).nonzero[0] == 100


@pytest.mark.parametrize("told", ["{}", '{"cpu": -7, "memory": 9}', '{"cpu": 9223372036854775808, "memory": 9}', "[1]"])
def test_told_nonzero_requests_that_make_no_sense_are_ignored(told):
    found = read(annotations={"ecotone.dev/nonzero-requests": told}, interner=Interner(dumped=True))
    assert found.spec.nonzero[0] == 100


def test_the_owner_in_charge():
    both = [{"kind": "A", "name": "a"}, {"kind": "ReplicaSet", "name": "r", "controller": True}]
    assert read(ownerReferences=both).owner == "ReplicaSet/r"
    assert read(ownerReferences=both[:1]).owner == "A/a"
    assert read(ownerReferences=[both[0], both[0]]).owner is None
    assert read(ownerReferences=[{"kind": "Node", "name": "n", "controller": True}]).mirror


def test_wire_shapes_ignore_what_they_do_not_know():
    assert typed(
        {"kind": "Pod", "metadata": {"name": "p", "managedFields": []}, "spec": {"dnsPolicy": "x"}}
    ) == wire.Pod(metadata=wire.Metadata(name="p"))
