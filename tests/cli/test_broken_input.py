"""Everything a person or a pipe can get wrong: one line that says what and where, the right exit code, no traceback."""

from pathlib import Path

import pytest

BROKEN = Path(__file__).parent / "broken"
SAYS = {
    "a-list.yaml": ":1:1: a Kubernetes object is expected, not a list",
    "alias-bomb.yaml": "expands to more than",
    "alias-loop.yaml": ":3:32: the alias `*m` contains itself",
    "bad-spread.yaml": ":6:56: Pod default/p: topology spread constraint has the unknown whenUnsatisfiable 'Never'",
    "binary.yaml": "the file is binary",
    "comments-only.yaml": "no Kubernetes objects",
    "cyclic-owners.yaml": ":1: ReplicaSet default/a: owners form a cycle: ReplicaSet/a -> ReplicaSet/b -> ReplicaSet/a",
    "deep.json": "nested deeper than 100 levels",
    "deep.yaml": "nested deeper than 100 levels",
    "duplicate-key.yaml": ":5:1: the key `metadata` appears twice (first on line 3)",
    "empty.yaml": "no Kubernetes objects",
    "huge-number.yaml": ":4:29: Node n1: cpu: quantity 1e+99 is larger than anything",
    "items-is-a-word.yaml": ':3:8: items must be a list, not the string "none"',
    "latin-1.yaml": ":3:21: the file is not UTF-8",
    "misspelt-kind.yaml": ":2:7: v1 has no kind 'Nod' (did you mean 'Node'?)",
    "negative-quantity.yaml": ":4:29: Node n1: cpu: quantity '-4' is negative",
    "network-map-text.yaml": ":4:40: NetworkMap m: spec.rtt.a.b: expected `float`, got `str`",
    "no-api-version.yaml": ":1:1: the object has no apiVersion",
    "no-kind.yaml": ":1:1: the object has no kind",
    "no-name.yaml": ":6: Pod without metadata.name",
    "not-json.json": ":1:65: neither valid JSON nor YAML",
    "not-yaml.yaml": ":3:9: not valid YAML",
    "number-as-label.yaml": ":12:12: Pod p: metadata.labels.index: expected `str`, got `int` (quote it)",
    "prose.yaml": ":1:1: a Kubernetes object is expected",
    "reservation-expires.yaml": ":4:42: Reservation default/r: 'tomorrow' is not a time",
    "scenario.yaml": ":2:7: Scenario is not part of a cluster",
    "spec-is-a-list.yaml": ":5:1: Pod p: spec: expected `object`, got `array`",
    "tabs.yaml": ":4:1: not valid YAML",
    "taint-without-key.yaml": ":4:17: Node n1: spec.taints[0]: object missing required field `key`",
    "text-as-port.yaml": ":8:17: Pod p: spec.containers[0].ports[0].hostPort: expected `int`, got `str`",
    "tosca.yaml": "ecotone tosca compile",
    "unknown-ecotone-kind.yaml": "did you mean 'NetworkMap'?",
    "unknown-operator.yaml": ":10:19: Pod default/p: selector on 'zone' has the unknown operator 'Equals'",
    "unknown-suffix.yaml": ":15:17: Pod default/p: memory: quantity '64MB' has the unknown suffix 'MB'",
    "unsupported-tag.yaml": ":3:11: the tag",
    "wrong-group.yaml": ":1:13: v1 has no kind 'Deployment'",
}
GOOD = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: front-end-0, namespace: shop}
spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: twin, namespace: a}
---
apiVersion: v1
kind: Pod
metadata: {name: twin, namespace: b}
"""


@pytest.fixture
def good(tmp_path):
    file = tmp_path / "good.yaml"
    file.write_text(GOOD)
    return file


def assert_one_line(result, code, *parts):
    assert result.code == code
    assert result.out == ""
    assert result.err.count("\n") == 1, result.err
    assert "Traceback" not in result.err
    for part in parts:
        assert part in result.err


def test_every_broken_file_is_in_the_table():
    assert sorted(SAYS) == sorted(path.name for path in BROKEN.iterdir())


@pytest.mark.parametrize("name", SAYS)
def test_a_broken_file_gets_one_line_with_its_place(run, name):
    assert_one_line(run("plan", "-f", BROKEN / name), 2, f"{BROKEN / name}:", SAYS[name])


def test_two_hundred_megabytes_of_nothing(run, tmp_path):
    file = tmp_path / "zeros.yaml"
    with file.open("wb") as stream:
        stream.truncate(200 * 2**20)
    assert_one_line(run("plan", "-f", file), 2, f"{file}: 200 MiB are more than the 64 MiB that are read")


@pytest.mark.parametrize(
    ("byte", "says"), [(b" ", "66 MiB are more than the 64 MiB that are read"), (b"{", "the JSON cannot be used")]
)
def test_too_much_of_what_may_start_an_object(run, tmp_path, byte, says):
    file = tmp_path / "much.yaml"
    with file.open("wb") as stream:
        for _ in range(66):
            stream.write(byte * 2**20)
    assert_one_line(run("plan", "-f", file), 2, f"{file}: {says}")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("explain", "nobody"), "no pod 'nobody' in the cluster"),
        (("explain", "front-end-1"), "no pod 'front-end-1' in the cluster (did you mean 'front-end-0'?)"),
        (("explain", "shop/front-end-1"), "(did you mean 'shop/front-end-0'?)"),
        (
            ("explain", "front-end-0", "-n", "other"),
            "no pod 'other/front-end-0' in the cluster (nothing is in namespace 'other'; did you mean 'shop/front-end-0'?)",
        ),
        (("explain", "a/b/c"), "'a/b/c' is not a pod's name"),
        (("explain", "twin"), "several pods are called 'twin' (one of a/twin, b/twin)"),
        (("explain", "twin", "--policy", "sofos"), "unknown policy 'sofos' (did you mean 'sophos'?)"),
        (("explain",), "Missing argument 'POD'"),
        (("plan", "--policy", "none-such-thing"), "unknown policy 'none-such-thing' (ecotone policies lists them)"),
        (("plan", "-o", "xml"), "'xml' is not one of"),
        (("plan", "--now", "noon"), "--now: 'noon' is not a time"),
        (("plan", "--max-age", "long"), "--max-age: 'long' is not a duration"),
        (("plan", "--seed", "x"), "Invalid value for '--seed'"),
        (("plan", "--config", "/nowhere.yaml"), "/nowhere.yaml: cannot be read: No such file or directory"),
        (("plan", "--frobnicate"), "No such option"),
        (("snapshot", "-o", "table"), "'table' is not one of"),
    ],
)
def test_wrong_use_gets_one_line(run, good, arguments, says):
    assert_one_line(run(*arguments, "-f", good), 2, says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("plan", "-f", "/nowhere"), "/nowhere: no such file or directory"),
        (("plann",), "No such command 'plann'"),
        (("policies", "sophus"), "did you mean 'sophos'?"),
    ],
)
def test_wrong_use_without_a_cluster(run, arguments, says):
    assert_one_line(run(*arguments), 2, says)


def test_no_arguments_show_help_and_are_wrong_use(run):
    result = run()
    assert result.code == 2 and "Usage" in result.err and result.out == ""


def test_configurations_with_mistakes(run, good, tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text("apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles:\n- polcy: sophos\n")
    assert_one_line(
        run("plan", "-f", good, "--config", file), 2, f"{file}:4:3: unknown key 'polcy' (did you mean `policy`?)"
    )
    file.write_text(file.read_text().replace("polcy: sophos", "policy: sophos\n- policy: netmarks"))
    assert_one_line(
        run("plan", "-f", good, "--config", file), 2, "several profiles (--policy one of: sophos, netmarks)"
    )
    assert_one_line(run("plan", "-f", good, "--config", file, "--policy", "netmark"), 2, "did you mean 'netmarks'?")
    assert run("plan", "-f", good, "--config", file, "--policy", "netmarks").code == 0
    file.write_text("apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles:\n- name: sortless\n")
    assert_one_line(run("plan", "-f", good, "--config", file), 2, "'sortless' needs exactly one queueSort plugin")
