"""A template laid over a cluster: `plan` and `explain` with `--application`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ecotone.cli import main

HEAD = "tosca_definitions_version: tosca_simple_yaml_1_3\nimports: [{file: ecotone/profile.yaml}]\n"
TEMPLATE = (
    HEAD
    + """metadata: {template_name: shop}
topology_template:
  node_templates:
    web:
      type: Service
      capabilities: {deployment: {properties: {image: x, cpu: 100m, memory: 64Mi}}}
      requirements: [{route: {node: api, relationship: {type: HTTPRoute, properties: {deadline: %s}}}}]
    api: {type: Service, capabilities: {deployment: {properties: {image: x, cpu: 100m, memory: 64Mi}}}}
"""
)


def node(name: str, latencies: dict[str, float]) -> dict[str, Any]:
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "annotations": {"ecotone.dev/latencies": json.dumps(latencies)}},
        "status": {
            "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }  # fmt: skip


def running(name: str, where: str) -> list[dict[str, Any]]:
    labels = {"app": name, "app-group": "shop"}
    spec = {"containers": [{"name": name, "image": "x", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    deployment = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "live", "labels": labels},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
    }  # fmt: skip
    pod = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": f"{name}-0", "namespace": "live", "labels": labels, "uid": name,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": "d", "controller": True}],
        },
        "spec": {**spec, "nodeName": where}, "status": {"phase": "Running"},
    }  # fmt: skip
    return [deployment, pod]


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    nodes = [
        node("near", {"far": 50.0, "mid": 20.0}),
        node("mid", {"near": 20.0, "far": 50.0}),
        node("far", {"near": 50.0}),
    ]
    path = tmp_path / "cluster.yaml"
    path.write_text(yaml.safe_dump_all(nodes))
    return path


def template(tmp_path: Path, deadline: str) -> str:
    path = tmp_path / "shop.tosca.yaml"
    path.write_text(TEMPLATE % deadline)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main([*arguments, "-o", "json"]) == code, capsys.readouterr().err
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def planned(capsys: pytest.CaptureFixture[str], cluster: Path, application: str, policy: str) -> dict[str, str | None]:
    plan = run(capsys, "plan", "-f", str(cluster), "--application", application, "--policy", policy)
    return {decision["pod"]: decision.get("node") for decision in plan["decisions"]}


def judged(capsys: pytest.CaptureFixture[str], cluster: Path, policy: str, *more: str) -> dict[str, Any]:
    return run(capsys, "explain", "live/web-0", "-f", str(cluster), "--policy", policy, *more)


def distances(answer: dict[str, Any]) -> dict[str, float]:
    return {view["name"]: view["scores"]["NetworkAware"]["raw"] for view in answer["nodes"]}


def test_a_template_alone_is_planned_on_an_empty_cluster(
    capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path
) -> None:
    application = template(tmp_path, "1 s")
    together = planned(capsys, cluster, application, "ecotone")
    assert list(together) == ["default/web-0", "default/api-0"]
    assert together["default/web-0"] == together["default/api-0"] is not None


def test_sophos_places_by_index_and_reads_only_a_pods_own_channels(
    capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path
) -> None:
    """web comes first by its index; api lists no channel, so as published nothing pulls it after web."""
    where = planned(capsys, cluster, template(tmp_path, "1 s"), "sophos")
    assert list(where) == ["default/web-0", "default/api-0"]
    assert None not in where.values()


def test_static_affinity_of_a_template_pulls_a_new_pod_to_its_running_peer(
    capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path
) -> None:
    cluster.write_text(cluster.read_text() + "---\n" + yaml.safe_dump_all(running("api", "far")))
    laid = ("--application", template(tmp_path, "1 s"))
    assert distances(judged(capsys, cluster, "sophos", *laid)) == {"far": 0.0, "near": -5000.0, "mid": -5000.0}
    assert judged(capsys, cluster, "ecotone", *laid)["node"] == "far"


def test_the_affinity_comes_from_the_template_and_from_nowhere_else(
    capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path
) -> None:
    objects = [*running("web", "mid"), *running("api", "near")]
    cluster.write_text(cluster.read_text() + "---\n" + yaml.safe_dump_all(objects))
    assert set(distances(judged(capsys, cluster, "sophos")).values()) == {0.0}
    laid = distances(judged(capsys, cluster, "sophos", "--application", template(tmp_path, "1 s")))
    assert laid == {"near": 0.0, "mid": -2000.0, "far": -5000.0}


def test_a_missed_deadline_is_said(capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path) -> None:
    cluster.write_text(cluster.read_text() + "---\n" + yaml.safe_dump_all(running("api", "near")))
    application = template(tmp_path, "30 ms")
    answer = run(
        capsys, "explain", "live/web-0", "-f", str(cluster), "--application", application, "--policy", "ecotone"
    )
    views = {view["name"]: view for view in answer["nodes"]}
    assert views["near"]["feasible"]
    assert views["mid"]["feasible"]
    assert views["far"]["reasons"] == ["node(s) were farther than 30 ms from api"]


def test_what_stands_on_the_object_is_kept(capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path) -> None:
    deployment, pod = running("web", "far")
    deployment["spec"]["template"]["metadata"]["annotations"] = {"ecotone.dev/affinity": json.dumps({"api": 7})}
    cluster.write_text(cluster.read_text() + "---\n" + yaml.safe_dump_all([deployment, pod, *running("api", "near")]))
    answer = run(
        capsys,
        "explain",
        "live/web-0",
        "-f",
        str(cluster),
        "--application",
        template(tmp_path, "1 s"),
        "--policy",
        "sophos",
    )
    raw = {view["name"]: view["scores"]["NetworkAware"]["raw"] for view in answer["nodes"]}
    assert raw == {"near": 0.0, "mid": -140.0, "far": -350.0}


def test_wrong_templates_are_reported_and_a_live_cluster_is_refused(
    capsys: pytest.CaptureFixture[str], cluster: Path, tmp_path: Path
) -> None:
    assert main(["plan", "-f", str(cluster), "--application", template(tmp_path, "soon")]) == 2
    assert "which is no scalar-unit.time" in capsys.readouterr().err
    assert main(["plan", "--application", template(tmp_path, "1 s")]) == 2


QUEUE = (
    HEAD
    + """metadata: {template_name: messages}
topology_template:
  node_templates:
    worker:
      type: Service
      capabilities: {deployment: {properties: {image: x, cpu: 100m, memory: 64Mi, role: microservice}}}
      requirements: [{route: {node: queue, relationship: {type: AMQPRoute, properties: {deadline: %s}}}}]
    queue:
      type: Service
      capabilities: {deployment: {properties: {image: x, cpu: 100m, memory: 64Mi, role: message-queue}}}
"""
)


@pytest.mark.parametrize(("deadline", "placed"), [("30 ms", 1), ("3 ms", 0)])
def test_a_deadline_to_the_queue_bounds_pogonip(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, deadline: str, placed: int
) -> None:
    """The control node is 10 ms from the only edge node: within one bound and beyond the other."""
    control, edge = node("control", {"edge": 10.0}), node("edge", {"control": 10.0})
    control["metadata"]["labels"] = {"node-role.kubernetes.io/control-plane": ""}
    control["spec"] = {"taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]}
    edge["metadata"]["labels"] = {"ecotone.dev/tier": "edge"}
    cluster, application = tmp_path / "cluster.yaml", tmp_path / "messages.tosca.yaml"
    cluster.write_text(yaml.safe_dump_all([control, edge]))
    application.write_text(QUEUE % deadline)
    plan = run(capsys, "plan", "-f", str(cluster), "--application", str(application), "--policy", "pogonip")
    assert plan["objective"]["apps_placed"] == placed
    assert plan["objective"]["apps_rejected"] == 1 - placed
    actions = {decision["action"] for decision in plan["decisions"]}
    assert actions == ({"bind"} if placed else {"wait"})
