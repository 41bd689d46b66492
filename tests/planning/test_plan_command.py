"""`ecotone plan` for the Pogonip policies, from a file to the figures of its objective."""

import json
from pathlib import Path

import pytest

from ecotone.cli import main
from ecotone.placement.problem.taxi import scenario_1, scenario_2
from placement.manifests import cluster_yaml


def plan(path: Path, policy: str, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["plan", "-f", str(path), "--policy", policy, "-o", "json"]) == 0
    document: dict[str, object] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(
    ("policy", "forwarded", "mean"),
    [("pogonip-opt", 20, 36.25), ("pogonip", 25, None), ("pogonip-greedy", 20, None), ("pogonip-plugins", 25, None)],
)
def test_the_second_scenario(
    policy: str, forwarded: int, mean: float | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(cluster_yaml(scenario_2()))
    document = plan(path, policy, capsys)
    objective = document["objective"]
    assert isinstance(objective, dict)
    assert (objective["apps_placed"], objective["apps_rejected"], objective["edge_nodes_used"]) == (8, 0, 5)
    assert (objective["forwarded_to_cloud"], objective["cloud_cost_per_hour"]) == (forwarded, 8.0)
    assert mean is None or objective["latency_ms"]["mean"] == mean
    assert [each["action"] for each in document["decisions"]] == ["bind"] * 40  # type: ignore[attr-defined]


def test_the_first_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(cluster_yaml(scenario_1()))
    objective = plan(path, "pogonip-opt", capsys)["objective"]
    assert objective["edge_nodes_used"] == 3 and objective["latency_ms"]["mean"] == 15.0  # type: ignore[index]


def test_a_rejected_application_waits_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(cluster_yaml(scenario_2(11)))
    document = plan(path, "pogonip-opt", capsys)
    waits = [each for each in document["decisions"] if each["action"] == "wait"]  # type: ignore[attr-defined]
    assert len(waits) == 5 and all("no room left on any edge node" in each["why"] for each in waits)
    assert document["objective"]["apps_rejected"] == 1  # type: ignore[index]
