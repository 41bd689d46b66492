"""A table of wrong inputs, as a person on the first day makes them: one line, the right exit code, no traceback.

Rows are command lines with files written on the spot. They run in this process, so that hundreds of them cost seconds. What
a broken Kubernetes object says is in `test_broken_input`; this is about everything else: options, scenarios, profiles,
kubeconfigs, places to write to.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import Run

CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-0, namespace: shop}
spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
"""
SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 60s
  cluster:
    nodes: [{name: a, tier: cloud, cpu: "2", memory: 4Gi}, {name: b, tier: edge, cpu: "2", memory: 4Gi}]
    network: {default: {rtt: 10ms}}
  application:
    name: shop
    services:
      - {name: web, requests: {cpu: 100m}, endpoints: [{name: get, cpu: 2ms, stages: [[{call: db.read}]]}]}
      - {name: db, endpoints: [{name: read, cpu: 1ms}]}
  load: [{at: 0s, for: 60s, entry: web.get, from: [a], arrivals: {users: 2, every: 1s}}]
"""
PROFILE = "apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles:\n"
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: sesame}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""

OPTIONS: list[tuple[str, str]] = [
    ("plann", "No such command 'plann'"),
    ("plan -f {good} --polcy x", "No such option"),
    ("plan -f {good} --policy", "requires an argument"),
    ("plan -f {good} extra", "extra"),
    ("plan -f {good} --policy sofos", "did you mean 'sophos'?"),
    ("plan -f {good} --policy ''", "unknown policy ''"),
    ("plan -f {good} -o jsn", "is not one of"),
    ("plan -f {good} --now yesterday", "'yesterday' is not a time"),
    ("plan -f {good} --now 2024-13-01T00:00:00Z", "is not a time"),
    ("plan -f {good} --max-age -5s", "'-5s' is not a duration"),
    ("plan -f {good} --max-age 5y", "'5y' is not a duration"),
    ("plan -f {good} --seed 1.5", "Invalid value for '--seed'"),
    ("plan -f {missing}", "no such file or directory"),
    ("plan -f {empty}", "no Kubernetes objects"),
    ("plan -f {folder}", "the directory holds no .yaml, .yml or .json file"),
    ("plan -f {good} --config {missing}", "cannot be read: No such file or directory"),
    ("plan -f {good} --config {folder}", "cannot be read: Is a directory"),
    ("plan -f {good} --config {empty}", "empty"),
    ("plan -f {good} --application {missing}", "cannot read the template: No such file"),
    ("explain -f {good}", "Missing argument 'POD'"),
    ("explain -f {good} web-1", "did you mean 'web-0'?"),
    ("explain -f {good} a/b/c", "'a/b/c' is not a pod's name"),
    ("explain -f {good} /", "is not a pod's name"),
    ("explain -f {good} web-0 -n nowhere", "no pod 'nowhere/web-0'"),
    ("explain web-0 --scheduler ftp://x", "an http(s) address is expected"),
    ("explain web-0 --scheduler nonsense", "an http(s) address is expected"),
    ("snapshot -f {good} -o table", "is not one of"),
    ("snapshot -f {missing}", "no such file or directory"),
    ("policies sophus", "did you mean 'sophos'?"),
    ("policies sophos extra", "extra"),
    ("policies -o xml", "is not one of"),
    ("scenarios nope", "nope"),
    ("simulate", "Missing argument"),
    ("simulate nope", "there is no scenario 'nope'"),
    ("simulate sock-shop-10m", "did you mean 'sock-shop-10ms'?"),
    ("simulate {folder}", "Is a directory"),
    ("simulate {empty}", "empty"),
    ("simulate {good}", "one document is expected"),
    ("simulate {scenario} -p sofos", "did you mean 'sophos'?"),
    ("simulate {scenario} -o xml", "unknown output 'xml'"),
    ("simulate {scenario} --trials 0", "Invalid value for '--trials'"),
    ("simulate {scenario} --trials many", "Invalid value for '--trials'"),
    ("simulate {scenario} --workers -1", "Invalid value for '--workers'"),
    ("simulate {scenario} --seed x", "Invalid value for '--seed'"),
    ("simulate {scenario} --report {good}", "there is a file of that name (name a folder)"),
    ("simulate {scenario} --runs {good}", "there is a file of that name (name a folder)"),
    ("simulate {scenario} --report {good}/below", "cannot be written to: Not a directory"),
    ("simulate {scenario} --dask nonsense", "no address of a scheduler"),
    ("simulate {scenario} --dask tcp://", "no address of a scheduler"),
    ("simulate {scenario} --dask tcp://host:port", "no address of a scheduler"),
    ("simulate {scenario} --config {missing}", "No such file or directory"),
    ("simulate {scenario} --config {scenario}", "Scenario"),
    ("experiment nope", "unknown experiment 'nope'"),
    ("experiment sophus", "did you mean 'sophos'?"),
    ("experiment sophos --trials 0", "Invalid value for"),
    ("experiment sophos --chains triple", "unknown chains 'triple'"),
    ("experiment pogonip-1 -o xml", "unknown output 'xml'"),
    ("experiment pogonip-1 --report {good}", "there is a file of that name"),
    ("manifests nope", "unknown part 'nope'"),
    ("manifests schedular", "did you mean 'scheduler'?"),
    ("manifests -o xml", "xml"),
    ("manifests extender --allow-from everywhere", "a range of addresses is expected"),
    ("tosca", ""),
    ("tosca validate", "Missing argument"),
    ("tosca validate {missing}", "cannot read the template: No such file"),
    ("tosca validate {good}", ""),
    ("tosca validate {empty}", ""),
    ("serve nope", "No such command 'nope'"),
    ("serve scheduler --kubeconfig {missing}", "missing.yaml"),
    ("serve scheduler --kubeconfig {kubeconfig} --policy sofos", "did you mean 'sophos'?"),
    ("serve scheduler --kubeconfig {kubeconfig} --batch 0", "Invalid value for '--batch'"),
    ("serve scheduler --kubeconfig {kubeconfig} --lease-duration 1", "see --lease-duration"),
    ("apply --affinity --deschedule --kubeconfig {kubeconfig}", "exclude each other"),
    ("plan --kubeconfig {missing}", "missing.yaml"),
    ("plan --kubeconfig {kubeconfig} --context nope", "no context named 'nope'"),
    ("plan --kubeconfig {kubeconfig} --request-timeout soon", "--request-timeout: 'soon' is not a duration"),
]

# What is written instead of a piece of the scenario above.
SCENARIOS: list[tuple[str, str, str]] = [
    ("apiVersion: ecotone.dev/v1alpha1", "apiVersion: ecotone.dev/v2", "unknown apiVersion"),
    ("kind: Scenario", "kind: Scenarios", "is no scenario"),
    ("metadata: {name: small}", "metadata: {nam: small}", "nam"),
    ("metadata: {name: small}\n", "", "metadata"),
    ("duration: 60s", "duration: 60", "duration"),
    ("duration: 60s", "duration: -60s", "duration"),
    ("duration: 60s", "duration: sixty", "duration"),
    ("duration: 60s", "duration: .nan", "duration"),
    ("duration: 60s", "duration: 0s", "duration"),
    ("duration: 60s", "durration: 60s", "did you mean"),
    ("duration: 60s", "duration: 60s\n  warmup: 90s", "the warm-up is as long as the whole run"),
    ("name: a, tier: cloud", "name: b, tier: cloud", "b"),
    ("name: a, tier: cloud", "tier: cloud", "name"),
    ('cpu: "2", memory: 4Gi}, {name: b', 'cpu: "-2", memory: 4Gi}, {name: b', "-2"),
    ('cpu: "2", memory: 4Gi}, {name: b', "cpu: banana, memory: 4Gi}, {name: b", "banana"),
    ("memory: 4Gi}, {name: b", "memory: 4GiB}, {name: b", "4GiB"),
    ("memory: 4Gi}, {name: b", "memry: 4Gi}, {name: b", "memry"),
    ("rtt: 10ms", "rtt: 10", "10"),
    ("rtt: 10ms", "rtt: -10ms", "rtt"),
    ("rtt: 10ms", "rtt: fast", "fast"),
    ("rtt: 10ms", "rtt: 10ms, loss: 150%", "loses every message"),
    ("rtt: 10ms", "rtt: 10ms, jitter: -1ms", "cannot be negative"),
    ("rtt: 10ms", "rtt: 10ms, bandwith: 1Mbit", "did you mean"),
    ("{default: {rtt: 10ms}}", "{default: {rtt: 10ms}, routing: shortest}", "shortest-path"),
    ("{default: {rtt: 10ms}}", "{default: {rtt: 10ms}, links: [{between: [a, x], rtt: 1ms}]}", "x"),
    ("call: db.read", "call: db.write", "write"),
    ("call: db.read", "call: bd.read", "bd"),
    ("call: db.read", "call: db", "db"),
    ("call: db.read", "call: web.get", "circle"),
    ("call: db.read", "call: db.read, count: -1", "count"),
    ("call: db.read", "call: db.read, request: 1kX", "`kX` is no unit of a size"),
    ("name: get, cpu: 2ms", "name: get, cpu: -2ms", "cannot be negative"),
    ("name: get, cpu: 2ms", "name: get, cpu: lots", "lots"),
    ("name: get, cpu: 2ms", "name: get, cpu: {mean: 2ms, distribution: gamma}", "gamma"),
    ("requests: {cpu: 100m}", "requests: {cpu: 100mm}", "100mm"),
    ("requests: {cpu: 100m}", "replicas: -1", "replicas"),
    ("requests: {cpu: 100m}", "replicas: many", "replicas"),
    ("requests: {cpu: 100m}", "replicas: 100000000000000000000", "the number of replicas is more than there can be"),
    ("requests: {cpu: 100m}", "requests: {cpu: 8Ei}", "`8Ei` of cpu is more than there can be"),
    ("memory: 4Gi}, {name: b", "memory: 8Ei}, {name: b", "`8Ei` of memory is more than there can be"),
    ("requests: {cpu: 100m}", "pinned: nowhere", "nowhere"),
    ("requests: {cpu: 100m}", "requests: {cpu: 100m}, pinned: a, requests: {cpu: 900}", "appears twice"),
    ("{name: db, endpoints", "{name: web, endpoints", "web"),
    ("{name: db, endpoints: [{name: read, cpu: 1ms}]}", "{name: db}", "db"),
    ("entry: web.get", "entry: web.got", "got"),
    ("entry: web.get", "entry: web", "web"),
    ("entry: web.get", "entery: web.get", "entery"),
    ("from: [a]", "from: [z]", "z"),
    ("from: [a]", "from: []", "from"),
    ("arrivals: {users: 2, every: 1s}", "arrivals: {users: -2, every: 1s}", "users"),
    ("arrivals: {users: 2, every: 1s}", "arrivals: {users: two, every: 1s}", "two"),
    ("arrivals: {users: 2, every: 1s}", "arrivals: {users: 2, every: 0s}", "every"),
    ("arrivals: {users: 2, every: 1s}", "arrivals: {poisson: -1}", "the rate of arrivals"),
    ("arrivals: {users: 2, every: 1s}", "arrivals: {}", "arrivals"),
    ("at: 0s, for: 60s", "at: -5s, for: 60s", "at"),
    ("at: 0s, for: 60s", "at: 0s", "for"),
    ("load: [", "events: [{at: 5s, node: z, state: down}]\n  load: [", "z"),
    ("load: [", "events: [{at: 5s, node: a, state: off}]\n  load: [", "off"),
    ("load: [", "events: [{at: 5s, link: [a], rtt: 1ms}]\n  load: [", "link"),
    ("load: [", "control: {monitor: 0s}\n  load: [", "monitor"),
    ("load: [", "control: {monitr: 5s}\n  load: [", "monitr"),
    ("load: [", "qos: 5\n  load: [", "qos"),
    ("spec:", "spec: [", ""),
    ("kind: Scenario", "kind: Scenario\nkind: Scenario", "appears twice"),
    ("kind: Scenario", "kind: !!python/object/apply:os.system [ls]", "tag"),
]

PROFILES: list[tuple[str, str]] = [
    ("- polcy: sophos\n", "did you mean `policy`?"),
    ("- policy: sofos\n", "did you mean"),
    ("- policy: [sophos]\n", ""),
    ("- name: sortless\n", "needs exactly one queueSort plugin"),
    ("  policy: sophos\n", ""),
    ("- policy: sophos\n- policy: sophos\n", "sophos"),
    ("- policy: first-fit\n  name: m\n  plugins: {score: {enabled: [{name: Nope}]}}\n", "Nope"),
    ("- policy: first-fit\n  name: m\n  plugins: {scor: {enabled: [{name: FirstFit}]}}\n", "scor"),
    ("- policy: first-fit\n  name: m\n  plugins: {filter: {enabled: [{name: FirstFit}]}}\n", "does not implement"),
    ("- policy: first-fit\n  name: m\n  plugins: {score: {enabled: [{name: FirstFit, weight: -1}]}}\n", "weight"),
    ("- policy: first-fit\n  name: m\n  plugins: {score: {enabled: [{name: FirstFit, weight: x}]}}\n", "weight"),
    ("- policy: first-fit\n  name: m\n  pluginConfig: [{name: FirstFit, args: {nope: 1}}]\n", "nope"),
]

KUBECONFIGS: list[tuple[str, str, int, str]] = [
    ("kind: Config", "kind: [", 2, ""),
    ("current-context: x", "current-context: y", 2, "no context named 'y'"),
    ("current-context: x\n", "", 2, "context"),
    ("cluster: c, user: u", "cluster: d, user: u", 2, "d"),
    ("cluster: c, user: u", "cluster: c, user: v", 2, "v"),
    ('server: "https://127.0.0.1:1"', 'server: "http://192.0.2.1"', 2, "http"),
    ('server: "https://127.0.0.1:1"', 'server: "nonsense"', 2, "an http(s) address is expected"),
    ('server: "https://127.0.0.1:1"', "insecure-skip-tls-verify: true, server: https://127.0.0.1:1", 2, "insecure"),
    ('server: "https://127.0.0.1:1"', "certificate-authority: /nowhere.pem, server: https://127.0.0.1:1", 2, "nowhere"),
    ("token: sesame", "tokenFile: /nowhere", 3, "/nowhere"),
    ("token: sesame", "exec: {apiVersion: v1, command: no-such-plugin-here}", 3, "no-such-plugin-here"),
    ("token: sesame", "exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false'}", 3, "exit code 1"),
    ("token: sesame", "exec: {apiVersion: client.authentication.k8s.io/v1, command: 'true'}", 3, "ExecCredential"),
    (
        "token: sesame",
        "exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: [-c, 'echo sorry >&2; exit 254']}",
        3,
        "failed with exit code 254: sorry",
    ),
    ("token: sesame", "token: sesame", 3, "127.0.0.1"),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / f"{name}.yaml" for name in ("good", "empty", "missing", "scenario", "kubeconfig")}
    found["folder"] = tmp_path / "folder"
    found["folder"].mkdir()
    found["good"].write_text(CLUSTER)
    found["empty"].write_text("")
    found["scenario"].write_text(SCENARIO)
    found["kubeconfig"].write_text(KUBECONFIG)
    return found


def check(run: Run, arguments: list[str], code: int, says: str) -> None:
    result = run(*arguments)
    assert (result.code, result.out) == (code, "")
    assert result.err.count("\n") == 1, result.err
    assert says in result.err
    assert "Traceback" not in result.err and "internal error" not in result.err


def replaced(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(("line", "says"), OPTIONS)
def test_wrong_options(run: Run, files: dict[str, Path], line: str, says: str) -> None:
    words = ["" if word == "''" else word.format(**files) for word in line.split()]
    if line == "tosca":
        result = run(*words)
        assert result.code == 2 and "Usage" in result.err
        return
    check(run, words, 2, says)


@pytest.mark.parametrize(("old", "new", "says"), SCENARIOS)
def test_wrong_scenarios(run: Run, tmp_path: Path, old: str, new: str, says: str) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(replaced(SCENARIO, old, new))
    check(run, ["simulate", str(file), "-p", "first-fit", "--workers", "1"], 2, says)


@pytest.mark.parametrize(("body", "says"), PROFILES)
def test_wrong_profiles(run: Run, files: dict[str, Path], tmp_path: Path, body: str, says: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(PROFILE + body)
    check(run, ["plan", "-f", str(files["good"]), "--config", str(file)], 2, says)


@pytest.mark.parametrize(("old", "new", "code", "says"), KUBECONFIGS)
def test_wrong_kubeconfigs(run: Run, tmp_path: Path, old: str, new: str, code: int, says: str) -> None:
    file = tmp_path / "k.yaml"
    file.write_text(replaced(KUBECONFIG, old, new))
    check(run, ["plan", "--kubeconfig", str(file), "--request-timeout", "2s"], code, says)


def test_the_table_is_long_enough() -> None:
    assert len(OPTIONS) + len(SCENARIOS) + len(PROFILES) + len(KUBECONFIGS) >= 150
