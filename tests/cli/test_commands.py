import json

import pytest
import yaml

from ecotone.scheduling import POLICIES

CLUSTER = """
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata:
    name: edge-1
    labels: {ecotone.dev/tier: edge}
    annotations:
      ecotone.dev/latencies: '{"edge-2": 4, "cloud-1": 40}'
      ecotone.dev/measured-at: "2026-01-01T00:00:00Z"
  status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
- apiVersion: v1
  kind: Node
  metadata: {name: edge-2, labels: {ecotone.dev/tier: edge}, annotations: {ecotone.dev/latencies: '{"cloud-1": 44}'}}
  status: {allocatable: {cpu: "2", memory: 4Gi, pods: "110"}}
- apiVersion: v1
  kind: Node
  metadata: {name: cloud-1, labels: {ecotone.dev/tier: cloud, ecotone.dev/price-per-hour: "0.5"}}
  spec: {taints: [{key: reserved, effect: NoSchedule}]}
  status: {allocatable: {cpu: "16", memory: 64Gi, pods: "110"}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: shop, labels: {app-group: shop}, annotations: {ecotone.dev/traffic: '{"db": 1000}'}}
- apiVersion: apps/v1
  kind: StatefulSet
  metadata: {name: db, namespace: shop, labels: {app-group: shop}}
- apiVersion: v1
  kind: Pod
  metadata: {name: db-0, namespace: shop, ownerReferences: [{kind: StatefulSet, name: db, controller: true}]}
  spec: {nodeName: edge-2, containers: [{name: c, resources: {requests: {cpu: "0", memory: "0"}}}]}
  status: {phase: Running, conditions: [{type: Ready, status: "True"}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: web-0, namespace: shop, ownerReferences: [{kind: Deployment, name: web, controller: true}]}
  spec: {schedulerName: ecotone, containers: [{name: c, resources: {requests: {cpu: 500m}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {name: giant}
  spec: {containers: [{name: c, resources: {requests: {cpu: "99"}}}]}
"""


@pytest.fixture
def cluster(tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text(CLUSTER)
    return file


def test_explain_as_json_has_the_published_shape(run, cluster):
    result = run("explain", "-f", cluster, "shop/web-0", "--policy", "sophos", "-o", "json")
    answer = json.loads(result.out)
    assert (result.code, result.err) == (0, "")
    assert (answer["pod"], answer["policy"], answer["node"]) == ("shop/web-0", "sophos", "edge-2")
    nodes = {each["name"]: each for each in answer["nodes"]}
    assert set(nodes) == {"edge-1", "edge-2", "cloud-1"}
    assert nodes["cloud-1"]["feasible"] is False
    assert "taint" in nodes["cloud-1"]["reasons"][0]
    assert "scores" not in nodes["cloud-1"]
    best = nodes["edge-2"]
    assert best["feasible"] is True and best["reasons"] == []
    assert best["scores"]["NetworkAware"] == {"raw": 0.0, "normalized": 0.0, "weight": 0.5}
    assert nodes["edge-1"]["scores"]["NetworkAware"] == {"raw": -4000.0, "normalized": -4000.0, "weight": 0.5}
    assert best["total"] == pytest.approx(sum(s["normalized"] * s["weight"] for s in best["scores"].values()))


@pytest.mark.parametrize("name", ["web-0", "pod/web-0", "shop/web-0"])
def test_a_pod_by_any_of_its_names(run, cluster, name):
    result = run("explain", "-f", cluster, name, "--policy", "first-fit", "-o", "name")
    assert (result.code, result.out) == (0, "node/edge-1\n")


def test_a_pod_by_namespace_option(run, cluster):
    assert (
        run("explain", "-f", cluster, "web-0", "-n", "shop", "--policy", "first-fit", "-o", "name").out
        == "node/edge-1\n"
    )
    assert run("explain", "-f", cluster, "web-0", "-A", "--policy", "first-fit", "-o", "name").out == "node/edge-1\n"


def test_a_pod_that_fits_nowhere_is_a_no(run, cluster):
    result = run("explain", "-f", cluster, "giant", "--policy", "kube-default", "-o", "json")
    answer = json.loads(result.out)
    assert (result.code, answer["node"]) == (1, None)
    assert all(each["feasible"] is False and each["reasons"] for each in answer["nodes"])
    human = run("explain", "-f", cluster, "giant", "--policy", "kube-default")
    assert human.code == 1 and "No node for it: 0/3 nodes are available" in human.out
    assert run("explain", "-f", cluster, "giant", "-o", "name").out == ""


def test_explain_for_people_shows_verdicts_units_and_one_sentence(run, cluster):
    out = run("explain", "-f", cluster, "web-0", "--policy", "sophos").out
    assert "Pod shop/web-0 (waiting), policy sophos" in out
    assert "4 ms on average" in out and "taint" in out
    last = out.strip().splitlines()[-1]
    assert last.startswith("edge-2 ") and last.endswith(".")
    wide = run("explain", "-f", cluster, "web-0", "--policy", "sophos", "-o", "wide").out
    assert "TIEBREAK" in wide and "edge" in wide and "16 cpu" in wide


def test_a_running_pod_is_judged_as_if_removed(run, cluster):
    answer = json.loads(run("explain", "-f", cluster, "db-0", "--policy", "kube-default", "-o", "json").out)
    assert answer["current"] == "edge-2"
    fit = {each["name"]: each["scores"]["NodeResourcesFit"]["raw"] for each in answer["nodes"] if each["feasible"]}
    assert fit["edge-1"] == fit["edge-2"]
    out = run("explain", "-f", cluster, "db-0", "--policy", "first-fit").out
    assert "running on edge-2, judged as if removed first" in out


def test_plan_as_json_has_the_published_shape(run, cluster):
    result = run("plan", "-f", cluster, "--policy", "sophos", "-o", "json")
    plan = json.loads(result.out)
    assert result.code == 0 and plan["policy"] == "sophos"
    by_pod = {each["pod"]: each for each in plan["decisions"]}
    assert set(by_pod) == {"shop/web-0", "default/giant"}
    assert {key: by_pod["shop/web-0"][key] for key in ("action", "node")} == {"action": "bind", "node": "edge-2"}
    assert by_pod["default/giant"]["action"] == "wait" and "Insufficient cpu" in by_pod["default/giant"]["why"]
    assert plan["objective"]["before"]["pods_waiting"] == 2
    assert plan["objective"]["after"]["pods_waiting"] == 1
    assert plan["objective"]["after"]["mean_latency_ms"] == 0.0


def test_plan_in_its_other_forms(run, cluster):
    assert run("plan", "-f", cluster, "--policy", "first-fit", "-o", "name").out.splitlines() == [
        "pod/shop/web-0",
        "pod/default/giant",
    ]
    text = run("plan", "-f", cluster, "--policy", "first-fit", "-o", "yaml").out
    assert yaml.safe_load(text) == json.loads(run("plan", "-f", cluster, "--policy", "first-fit", "-o", "json").out)
    table = run("plan", "-f", cluster, "--policy", "first-fit")
    assert table.out.splitlines()[0].split() == ["ACTION", "POD", "NODE", "WHY"]
    assert "would bind 1 pod; 1 pod would wait (dry run)" in table.err
    assert run("plan", "-f", cluster, "-n", "shop", "--policy", "first-fit", "-o", "name").out == "pod/shop/web-0\n"


def test_plan_with_moves_names_gain_and_unit(run, tmp_path):
    moved = CLUSTER.replace(
        "spec: {schedulerName: ecotone,", "spec: {nodeName: edge-1, schedulerName: ecotone,"
    ).replace(
        "resources: {requests: {cpu: 500m}}}]}",
        "resources: {requests: {cpu: 500m}}}]}\n  status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}",
    )
    file = tmp_path / "c.yaml"
    file.write_text(moved)
    plan = json.loads(run("plan", "-f", file, "--policy", "sophos", "--deschedule", "-o", "json").out)
    (move,) = [each for each in plan["decisions"] if each["action"] == "evict"]
    assert (move["pod"], move["from"], move["to"]) == ("shop/web-0", "edge-1", "edge-2")
    assert move["gain"] > 0 and move["unit"]
    table = run("plan", "-f", file, "--policy", "sophos", "--deschedule").out
    assert "edge-1 -> edge-2" in table
    none = run("plan", "-f", file, "--policy", "netmarks", "--deschedule")
    assert "policy netmarks has no descheduler" in none.err


def test_stale_measurements_are_unknown(run, cluster):
    fresh = json.loads(run("explain", "-f", cluster, "web-0", "--policy", "sophos", "-o", "json").out)
    stale = json.loads(
        run("explain", "-f", cluster, "web-0", "--policy", "sophos", "-o", "json", "--now", "2026-01-01T01:00:00Z").out
    )
    old_but_allowed = run(
        *("explain", "-f", cluster, "web-0", "--policy", "sophos", "-o", "json"),
        *("--now", "1767229200", "--max-age", "2h"),
    )

    def raw(answer):
        return {n["name"]: n["scores"]["NetworkAware"]["raw"] for n in answer["nodes"] if n["feasible"]}["edge-1"]

    assert raw(fresh) == raw(json.loads(old_but_allowed.out)) == -4000.0
    assert raw(stale) == -44000.0


def test_policies_are_listed_and_printed(run):
    table = run("policies").out
    assert all(name in table for name in POLICIES)
    assert run("policies", "-o", "name").out.split() == list(POLICIES)
    listed = json.loads(run("policies", "-o", "json").out)
    assert [each["name"] for each in listed if each["default"]] == ["ecotone"]
    assert "NetworkAware x 0.5" in run("policies", "sophos").out
    assert "solver pogonip" in run("policies", "-o", "wide").out


def test_a_printed_policy_can_be_passed_back(run, cluster, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text(run("policies", "sophos", "-o", "yaml").out)
    named = run("plan", "-f", cluster, "--policy", "sophos", "-o", "json").out
    assert run("plan", "-f", cluster, "--config", file, "-o", "json").out == named


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_dumped_snapshot_gives_the_same_answers(run, cluster, tmp_path, form):
    file = tmp_path / f"dump.{form}"
    file.write_text(run("snapshot", "-f", cluster, "-o", form, "--seed", "7").out)
    for policy in ("ecotone", "sophos", "random", "kube-default"):
        again = run("plan", "-f", file, "--policy", policy, "--deschedule", "-o", "json").out
        first = run("plan", "-f", cluster, "--policy", policy, "--deschedule", "--seed", "7", "-o", "json").out
        assert json.loads(again) == json.loads(first)


def test_without_files_or_cluster_the_outside_world_failed(run, monkeypatch, tmp_path):
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    result = run("plan")
    assert result.code in (2, 3) and result.out == "" and result.err.count("\n") == 1


def test_version_and_help(run):
    assert run("--version").out.startswith("ecotone ")
    for verb in ("explain", "plan", "policies", "snapshot"):
        help_text = run(verb, "--help").out
        assert "Examples:" in help_text and f"ecotone {verb}" in help_text


def test_notes_are_not_data(run, tmp_path):
    file = tmp_path / "d.yaml"
    file.write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
        "spec: {replicas: 2, template: {spec: {containers: [{name: c}]}}}\n"
    )
    result = run("plan", "-f", file, "-o", "json", "--policy", "first-fit")
    assert len(json.loads(result.out)["decisions"]) == 2
    assert "note: no pods in the input for Deployment default/web: 2 added as waiting" in result.err


def test_no_colour_reaches_a_pipe(run, cluster):
    assert "\x1b" not in run("explain", "-f", cluster, "web-0").out


def test_a_reader_that_went_away_is_no_error(cluster, tmp_path):
    import subprocess
    import sys

    code = f"import sys; from ecotone.cli import main; sys.exit(main(['plan', '-f', {str(cluster)!r}, '-o', 'json']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait() == 0
    assert b"Traceback" not in said
