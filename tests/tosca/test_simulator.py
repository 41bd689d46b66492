"""The example applications on the embedded simulator: every pod gets a node under `sophos`, and requests are answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ecotone.cli import main
from ecotone.sim.control.observation import deadlines
from ecotone.sim.scenario import read_scenario
from ecotone.tosca import graph_of, load_application
from ecotone.tosca.query import GraphStore
from ecotone.tosca.scenario import scenario_application

SOFT = """tosca_definitions_version: tosca_simple_yaml_1_3
imports: [{file: ecotone/profile.yaml}]
topology_template:
  node_templates:
    a:
      type: Service
      capabilities: {deployment: {properties: {image: x}}}
      requirements:
      - route: {node: b, relationship: {type: HTTPRoute, properties: {deadline: 20 ms, soft: true}}}
    b: {type: Service, capabilities: {deployment: {properties: {image: x}}}}
"""
EXAMPLES = sorted((Path(__file__).parent.parent.parent / "examples" / "tosca").glob("*.yaml"))
NODES = [
    {"name": "cloud-1", "tier": "cloud", "cpu": "4", "memory": "16Gi"},
    {"name": "fog-1", "tier": "fog", "cpu": "2", "memory": "8Gi"},
    {"name": "fog-2", "tier": "fog", "cpu": "2", "memory": "8Gi"},
    {"name": "edge-1", "tier": "edge", "cpu": "1", "memory": "4Gi"},
]


def scenario(path: Path) -> dict[str, Any]:
    application = load_application(path)
    (entry,) = GraphStore(graph_of(application)).entries()
    return {
        "apiVersion": "ecotone.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": application.name},
        "spec": {
            "duration": "90s",
            "cluster": {"nodes": NODES, "network": {"default": {"rtt": "20ms"}}},
            "application": scenario_application(application, pinned="cloud-1"),
            "load": [
                {"at": "0s", "for": "90s", "entry": f"{entry}.run", "from": ["edge-1"], "arrivals": {"poisson": 2}}
            ],
        },
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_are_scheduled_under_sophos(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(json.dumps(scenario(path)))
    assert main(["simulate", str(file), "--policy", "sophos", "--workers", "1", "-o", "json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    wanted = {
        service.name: service.settings.get("replicas", 1)
        for service in load_application(path).services
        if not service.external
    }
    for _, placement in run["placement"]:
        placed = {name: sum(nodes.values()) for name, nodes in placement.items() if name in wanted}
        assert placed == wanted
    assert run["requests"] > 100
    assert run["failed"] == 0


def test_a_soft_deadline_of_a_template_reaches_the_policy_that_is_simulated(tmp_path: Path) -> None:
    path = tmp_path / "soft.yaml"
    path.write_text(SOFT)
    read = read_scenario(json.dumps(scenario(path)), file="soft.yaml").application
    assert deadlines(read, soft=True) == {"a": {"b": 20.0}}
    assert deadlines(read, soft=False) == {}
