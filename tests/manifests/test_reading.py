import io
import json

import pytest
import yaml

from ecotone.manifests import decoding
from ecotone.manifests import files as reading
from ecotone.manifests.files import read_objects, read_paths
from ecotone.manifests.yaml.positions import Limits
from ecotone.model.errors import InputError
from ecotone.model.objects import WorkloadKey
from manifests.builders import node, owned, pod, snapshot_of, thing

THINGS = [node("n1"), node("n2"), pod("a", spec={"nodeName": "n1"}), pod("b", namespace="x")]


def keys_of(snapshot):
    return sorted(each.key for each in snapshot.pods()), snapshot.nodes.names


EXPECTED = (["default/a", "x/b"], ("n1", "n2"))
LIST = {"apiVersion": "v1", "kind": "List", "items": THINGS, "metadata": {"resourceVersion": ""}}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("many.yaml", yaml.safe_dump_all(THINGS)),
        ("list.yaml", yaml.safe_dump(LIST)),
        ("list.json", json.dumps(LIST)),
        ("stream.json", "\n".join(json.dumps(each) for each in THINGS)),
        ("indented.json", "\n\n  " + json.dumps(LIST, indent=2)),
        (
            "flow.yaml",
            "---\n".join(f"{{apiVersion: v1, kind: List, items: [{json.dumps(each)}]}}\n" for each in THINGS),
        ),
        ("empty-documents.yaml", "---\n---\n" + yaml.safe_dump_all(THINGS) + "---\n# nothing\n"),
        ("bom.json", "\ufeff" + json.dumps(LIST)),
    ],
)
def test_all_the_shapes_files_have(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    assert keys_of(read_paths([tmp_path / name])) == EXPECTED


def test_lists_of_one_kind_leave_out_what_the_list_says(tmp_path):
    bare = [{key: value for key, value in each.items() if key in ("metadata", "spec")} for each in THINGS[2:]]
    for name, write in (("p.json", json.dumps), ("p.yaml", yaml.safe_dump)):
        (tmp_path / name).write_text(write({"apiVersion": "v1", "kind": "PodList", "items": bare}))
        assert keys_of(read_paths([tmp_path / name]))[0] == EXPECTED[0]


def test_directories_several_paths_and_standard_input(tmp_path):
    (tmp_path / "d" / "deep").mkdir(parents=True)
    (tmp_path / "d" / "nodes.yml").write_text(yaml.safe_dump_all(THINGS[:2]))
    (tmp_path / "d" / "deep" / "pod.json").write_text(json.dumps(THINGS[2]))
    (tmp_path / "d" / "README.md").write_text("no objects: [")
    stdin = io.BytesIO(yaml.safe_dump(THINGS[3]).encode())
    assert keys_of(read_paths([tmp_path / "d", "-"], stdin=stdin)) == EXPECTED


def test_null_is_absent_as_in_the_api(tmp_path):
    given = pod(
        "a", creationTimestamp=None, labels=None, spec={"affinity": None, "tolerations": None, "volumes": [None]}
    )
    for name, write in (("p.json", json.dumps), ("p.yaml", yaml.safe_dump)):
        (tmp_path / name).write_text(write(given))
        assert keys_of(read_paths([tmp_path / name]))[0] == ["default/a"]


def test_other_kinds_are_passed_over(tmp_path):
    others = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}},
        {"apiVersion": "serving.knative.dev/v1", "kind": "Service", "metadata": {"name": "k"}, "spec": 3},
        {"apiVersion": "example.com/v1", "kind": "Anything", "spec": []},
    ]
    for name, write in (("o.json", json.dumps), ("o.yaml", yaml.safe_dump)):
        (tmp_path / name).write_text(write({"apiVersion": "v1", "kind": "List", "items": [*others, *THINGS]}))
        assert keys_of(read_paths([tmp_path / name])) == EXPECTED


def test_now_is_the_newest_time_found_or_what_is_given(tmp_path):
    things = [
        node("n1", annotations={"ecotone.dev/measured-at": "1970-01-01T00:10:00Z"}),
        pod("a", creationTimestamp="1970-01-01T00:00:10Z", deletionTimestamp="2030-01-01T00:00:00Z"),
        pod(
            "b",
            status={"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "1970-01-01T00:20:00Z"}]},
        ),
    ]
    assert snapshot_of(tmp_path, *things).now == 1200.0
    assert snapshot_of(tmp_path, *things, now=5.0).now == 5.0
    assert snapshot_of(tmp_path, node("n1")).now == 0.0
    options = snapshot_of(tmp_path, *things, max_age=7.0, seed=3)
    assert (options.max_age, options.seed) == (7.0, 3)


def test_the_later_of_two_equal_names_counts_and_a_difference_is_told(tmp_path):
    notes: list[str] = []
    found = snapshot_of(tmp_path, pod("a"), pod("a", cpu="1"), node("n1"), node("n1"), notes=notes)
    assert found.find_pod("default/a").spec.request("cpu") == 1000
    assert [note for note in notes if "appears twice" in note] == [
        f"Pod default/a appears twice and differs: the one of {tmp_path / 'objects.yaml'} counts"
    ]


def deployment(name, *, replicas=None, **fields):
    template = {"metadata": {"labels": {"app": name}}, "spec": pod("x")["spec"]}
    return thing("Deployment", name, spec={"replicas": replicas, "template": template}, **fields)


def test_a_workload_without_pods_gets_those_its_controller_would_make(tmp_path):
    notes: list[str] = []
    found = snapshot_of(
        tmp_path,
        deployment("new", replicas=2),
        deployment("there", replicas=2),
        pod("there-5d-x", labels={"pod-template-hash": "5d"}, ownerReferences=owned("ReplicaSet", "there-5d")),
        deployment("none", replicas=0),
        deployment("operated", ownerReferences=owned("Kafka", "k")),
        thing("Job", "once", spec={"template": {"spec": pod("x")["spec"]}}),
        thing("DaemonSet", "everywhere", spec={"template": {"spec": pod("x")["spec"]}}),
        notes=notes,
    )
    assert sorted(found.pending) == ["default/new-0", "default/new-1", "default/once-0", "default/there-5d-x"]
    assert found.pending["default/new-0"].kind.workload == WorkloadKey("default", "new", "Deployment")
    assert found.pending["default/new-0"].kind is found.pending["default/new-1"].kind
    assert notes == [
        "no pods in the input for Deployment default/new, Job default/once: "
        "3 added as waiting, as their controllers would do"
    ]


def test_pods_nobody_has_created_yet_arrive_in_the_order_of_the_file(tmp_path):
    old = pod("old", creationTimestamp="2026-01-01T00:00:00Z")
    found = snapshot_of(tmp_path, pod("z"), old, pod("a"), pod("m", spec={"nodeName": "n1"}), node("n1"))
    arrived = sorted(found.pending.values(), key=lambda each: each.created)
    assert [each.name for each in arrived] == ["old", "z", "a"]
    assert found.find_pod("default/m").created == 0.0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a: [", "not valid YAML"),
        ("just words", "a Kubernetes object is expected, not the string"),
        ("- 1", "a Kubernetes object is expected, not a list"),
        ("apiVersion: v1\nkind: Pod\nkind: Pod", "`kind` appears twice"),
        ("kind: Pod", "1:1: the object has no apiVersion"),
        ("apiVersion: v1\nknd: Pod", "the object has no kind (is it 'knd', misspelt?)"),
        ("apiVersion: v1\nkind: 3", "2:7: kind must be text"),
        ("apiVersion: v1\nkind: Pood", "2:7: v1 has no kind 'Pood' (did you mean 'Pod'?)"),
        ("apiVersion: v1\nkind: Deployment", "1:13: v1 has no kind 'Deployment' (Deployment belongs to apps/...)"),
        ("apiVersion: apps/v1\nkind: Pod", "(Pod belongs to v1)"),
        ("apiVersion: ecotone.dev/v1alpha1\nkind: Scenario", "ecotone simulate runs it"),
        ("apiVersion: ecotone.dev/v1alpha1\nkind: NetworkMapp", "did you mean 'NetworkMap'"),
        ("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration", "--config"),
        ("tosca_definitions_version: tosca_simple_yaml_1_3", "ecotone tosca compile"),
        ("apiVersion: v1\nkind: List\nitems: 3", "3:8: items must be a list"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {}", "Pod without metadata.name"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: 3", "4:7: Pod p: spec: expected `object`, got `int`"),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: b, index: 0}}",
            "3:43: Pod p: metadata.labels.index: expected `str`, got `int` (quote it)",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: a}\n  - ports: [{hostPort: x}]",
            "7:24: Pod p: spec.containers[1].ports[0].hostPort: expected `int`, got `str`",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {tolerations: {}}",
            "4:21: Pod p: spec.tolerations: expected `array`, got `object`",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: [{kee: a, effect: NoSchedule}]}",
            "missing required field `key` (is it 'kee', misspelt?)",
        ),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {cpu: '4', memory: 8Gb}}",
            "4:42: Node n: memory: quantity '8Gb' has the unknown suffix 'Gb'",
        ),
        (
            "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  affinity: {nodeAffinity: {requiredDuringScheduling"
            "IgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: Inn}]}]}}}",
            "unknown operator 'Inn'",
        ),
        (
            "apiVersion: ecotone.dev/v1alpha1\nkind: SnapshotState\nnow: .nan",
            "1: SnapshotState: now and maxAge must be numbers",
        ),
        ("", "no Kubernetes objects"),
        ("apiVersion: v1\nkind: List\nitems: []", "no Kubernetes objects"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}", "no Kubernetes objects"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_place(tmp_path, text, error):
    file = tmp_path / "f.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        read_paths([file])
    assert str(caught.value).startswith(f"{file}:")
    assert error in str(caught.value)


def test_errors_in_json_have_lines_too(tmp_path):
    file = tmp_path / "f.json"
    file.write_text('{"apiVersion": "v1", "kind": "Pod",\n "metadata": {"name": "p"},\n "spec": {"priority": "high"}}')
    with pytest.raises(InputError, match=r"f\.json:3:23: Pod p: spec\.priority: expected `int`"):
        read_paths([file])
    file.write_text(json.dumps([pod("a", cpu="1x")][0], indent=1))
    with pytest.raises(InputError, match=r"f\.json:\d+:\d+: Pod default/a: cpu: quantity '1x'"):
        read_paths([file])
    file.write_text('{"apiVersion": "v1", "kind": "PoddList", "items": [{}]}')
    with pytest.raises(InputError, match=r"v1 has no kind 'Podd'"):
        read_paths([file])
    file.write_text('{"a": ' * 200)
    with pytest.raises(InputError, match="nested deeper"):
        read_paths([file])


def test_an_owner_cycle_names_file_and_object(tmp_path):
    with pytest.raises(
        InputError,
        match=r"objects\.yaml:\d+.*: Pod default/p: owners form a cycle: ReplicaSet/a -> ReplicaSet/b -> ReplicaSet/a",
    ):
        snapshot_of(
            tmp_path,
            pod("p", ownerReferences=owned("ReplicaSet", "a")),
            thing("ReplicaSet", "a", ownerReferences=owned("ReplicaSet", "b")),
            thing("ReplicaSet", "b", ownerReferences=owned("ReplicaSet", "a")),
        )
    with pytest.raises(
        InputError, match=r"objects\.yaml:2: Deployment default/d: owners form a cycle: Deployment/d -> Dep"
    ):
        snapshot_of(tmp_path, thing("Deployment", "d", ownerReferences=owned("Deployment", "d")), node("n"))


def test_bad_quantities_from_standard_input_are_told_without_reading_twice():
    stdin = io.BytesIO(yaml.safe_dump(pod("a", cpu="1x")).encode())
    with pytest.raises(InputError, match="standard input:1: Pod default/a: cpu: quantity '1x'"):
        read_paths(["-"], stdin=stdin)


def test_paths_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_paths([tmp_path / "nothing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no"):
        read_paths([tmp_path / "empty"])
    (tmp_path / "secret.yaml").write_text("x")
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    with pytest.raises(InputError, match="no such file"):
        read_paths([tmp_path / "loop.yaml"])


def test_size_is_refused_before_memory_is_spent(tmp_path, monkeypatch):
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(InputError, match=r"huge\.yaml: 200 MiB are more than the 64 MiB that are read"):
        read_paths([huge])
    monkeypatch.setattr(decoding, "JSON_MAX_BYTES", 10)
    monkeypatch.setattr(decoding, "YAML_LIMITS", Limits(max_bytes=5))
    small = tmp_path / "small.json"
    small.write_text('{"a": "bbbbbbbbbbbbbbbbbbbb"}')
    with pytest.raises(InputError, match="more than the 0 MiB"):
        read_paths([small])
    with pytest.raises(InputError, match="standard input: 0 MiB are more"):
        read_paths(["-"], stdin=io.BytesIO(b"x" * 100))
    monkeypatch.setattr(reading, "MOST_FILES", 0)
    with pytest.raises(InputError, match="more than 0 files"):
        read_paths([tmp_path])


def test_a_device_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(decoding, "YAML_LIMITS", Limits(max_bytes=100_000))
    with pytest.raises(InputError, match="/dev/zero: 0 MiB are more"):
        read_paths(["/dev/zero"])


def test_json_that_only_yaml_can_read_has_yamls_limit(monkeypatch):
    monkeypatch.setattr(decoding, "YAML_LIMITS", Limits(max_bytes=5))
    with pytest.raises(InputError, match="f: the JSON cannot be used: "):
        decoding.decode(b"{apiVersion: v1}", file="f")
    with pytest.raises(InputError, match="f: the JSON cannot be used: it has objects without kind"):
        decoding.decode(b'{"apiVersion": "v1"}', file="f")


def test_binary_junk_is_called_by_its_name(tmp_path):
    file = tmp_path / "f.yaml"
    file.write_bytes(bytes(range(256)) * 20)
    with pytest.raises(InputError, match="binary"):
        read_paths([file])
    file.write_bytes(b"\xff\xfe not utf-8")
    with pytest.raises(InputError, match="not UTF-8"):
        read_paths([file])


def test_a_store_can_be_read_and_filled_further(tmp_path):
    (tmp_path / "n.yaml").write_text(yaml.safe_dump(node("n1")))
    store = read_objects([tmp_path / "n.yaml"])
    assert store.sink.nodes.names == ("n1",)


def test_our_keys_that_say_nothing_are_told(tmp_path):
    notes: list[str] = []
    template = {"metadata": {"annotations": {"ecotone.dev/affinity": "{db: 3}"}}}
    snapshot_of(
        tmp_path,
        node("n1", annotations={"ecotone.dev/latencies": '{"n2": "NaN"}', "ecotone.dev/available-cpu": "lots"}),
        pod("p", annotations={"ecotone.dev/max-latency": "soon"}, labels={"ecotone.dev/index": "first"}),
        thing("Deployment", "d", spec={"template": template}, annotations={"ecotone.dev/traffic": '{"db": 3}'}),
        notes=notes,
    )
    assert notes == [
        "Node n1: ecotone.dev/available-cpu cannot be read and counts as not given",
        "Node n1: ecotone.dev/latencies: the figure of 'n2' is no number that can be, and counts as not given",
        "Pod default/p: ecotone.dev/max-latency cannot be read and counts as not given",
        "Pod default/p: ecotone.dev/index cannot be read and counts as not given",
        "Deployment default/d: ecotone.dev/affinity cannot be read and counts as not given",
    ]
