"""`explain --application` on a live cluster: the template is laid over what the API server lists."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ecotone.cli import main

TEMPLATE = """tosca_definitions_version: tosca_simple_yaml_1_3
imports: [{file: ecotone/profile.yaml}]
topology_template:
  node_templates:
    web:
      type: Service
      capabilities: {deployment: {properties: {image: x}}}
      requirements:
      - route: {node: db, relationship: {type: HTTPRoute, properties: {priority: 77}}}
    db: {type: Service, capabilities: {deployment: {properties: {image: x}}}}
"""


def pod(name: str, app: str, node: str | None) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-rs", "uid": f"rs-{app}", "controller": True}
    meta = {"name": name, "namespace": "default", "uid": name, "labels": {"app": app}, "ownerReferences": [owner]}
    spec = {"containers": [{"name": "c"}], **({"nodeName": node} if node else {})}
    return {"metadata": meta, "spec": spec, "status": {"phase": "Running" if node else "Pending"}}


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"metadata": {"name": name, "namespace": "default", "uid": f"d-{name}"}, "spec": spec}


def replica_set(name: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": f"d-{name}", "controller": True}
    meta = {"name": f"{name}-rs", "namespace": "default", "uid": f"rs-{name}", "ownerReferences": [owner]}
    return {"metadata": meta, "spec": deployment(name)["spec"]}


def node(name: str, other: str) -> dict[str, Any]:
    notes = {"ecotone.dev/latencies": json.dumps({other: 40})}
    status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}, "capacity": {"cpu": "4", "memory": "8Gi"}}
    return {"metadata": {"name": name, "annotations": notes}, "spec": {}, "status": status}


LISTS = {
    "nodes": [node("a", "b"), node("b", "a")],
    "pods": [pod("db-0", "db", "a"), pod("web-0", "web", None)],
    "deployments": [deployment("db"), deployment("web")],
    "replicasets": [replica_set("db"), replica_set("web")],
}


class Lists(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        plural = self.path.partition("?")[0].rpartition("/")[2]
        body = json.dumps({"metadata": {"resourceVersion": "1"}, "items": LISTS.get(plural, [])}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Lists)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    users = [{"name": "u", "user": {}}]
    path = tmp_path / "config"
    path.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "users": users, "current-context": "x"}))
    yield path
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_template_is_laid_over_the_live_cluster(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = tmp_path / "app.tosca.yaml"
    template.write_text(TEMPLATE)
    command = ["explain", "web-0", "--kubeconfig", str(kubeconfig), "--policy", "sophos", "-o", "json"]
    assert main([*command, "--application", str(template)]) == 0
    assert "not believed" in capsys.readouterr().err, "its annotations are anybody's"
    command.append("--trust-annotations")
    assert main([*command, "--application", str(template)]) == 0
    found = json.loads(capsys.readouterr().out)
    raw = {each["name"]: each["scores"]["NetworkAware"]["raw"] for each in found["nodes"]}
    assert raw == {"a": 0, "b": -77 * 40}
    assert main(command) == 0
    without = json.loads(capsys.readouterr().out)
    assert {each["scores"]["NetworkAware"]["raw"] for each in without["nodes"]} == {0}
