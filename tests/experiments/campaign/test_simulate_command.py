"""`ecotone simulate`, `scenarios` and `experiment` as people call them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ecotone.cli import main

SMALL = """\
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 60s
  cluster:
    nodes: [{name: a, tier: cloud, cpu: "2", memory: 4Gi}, {name: b, tier: edge, cpu: "1", memory: 4Gi}]
    network: {default: {rtt: 20ms}}
  application:
    name: shop
    services:
      - {name: web, requests: {cpu: 100m, memory: 64Mi}, endpoints: [{name: get, cpu: 3ms}]}
  load: [{at: 0s, for: 60s, entry: web.get, from: [b], request: 1kB, response: 1kB, arrivals: {users: 4, every: 1s}}]
  qos: {latency: {edge: 50ms, cloud: 300ms}, targets: {web: 1.0}}
"""


@pytest.fixture
def small(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return str(path)


def test_json_has_the_shape_of_the_contract(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", small, "--policy", "first-fit", "--policy", "ecotone", "--seed", "3", "-o", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["scenario"], found["seed"]) == ("small", 3)
    first, second = found["runs"]
    assert (first["policy"], first["trial"], second["policy"]) == ("first-fit", 0, "ecotone")
    assert first["requests"] == 240
    assert set(first["response_ms"]) == {"mean", "p50", "p95", "p99"}
    assert [at for at, _ in first["series"]] == [0, 15, 30, 45]
    assert first["placement"][0] == [0, {"web": {"a": 1}}]
    assert [at for at, _ in first["placement"]] == [0, 15, 30, 45, 60]
    assert set(first["utilisation"]) == {"a", "b"}
    assert first["edge_latency_ms"] == 300
    assert [each["policy"] for each in found["summary"]] == ["first-fit", "ecotone"]
    assert found["summary"][0]["vs_baseline"] == 0
    assert found["summary"][0]["p95_ci95"] is None


def test_workers_change_no_byte_of_the_output(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for workers in ("1", "2"):
        assert main(["simulate", small, "--trials", "3", "--workers", workers, "-o", "json"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]
    assert json.loads(texts[0])["summary"][0]["policy"] == "kube-default"
    assert json.loads(texts[0])["summary"][0]["p95_ci95"] is not None


def test_the_table_names_every_policy(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", small, "-p", "kube-default", "-p", "sophos"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("POLICY")
    assert [line.split()[0] for line in lines[1:]] == ["kube-default", "sophos"]


def test_a_report_is_written_where_asked(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", small, "-p", "first-fit", "--report", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "index.html").read_text()
    assert "small" in page and "http://" not in page.replace("http://www.w3.org", "")
    assert "report:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", "nowhere.yaml"], "no scenario 'nowhere.yaml'"),
        (["simulate", "sock-shop-100m"], "sock-shop-100ms"),
        (["simulate", "SMALL", "--policy", "sofos"], "sophos"),
        (["simulate", "SMALL", "-o", "jsn"], "json"),
        (["simulate", "SMALL", "--trials", "0"], "trials"),
        (["experiment", "sphos"], "sophos"),
        (["scenarios", "sock-shop-1ms"], "sock-shop"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([small if each == "SMALL" else each for each in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
    assert words in captured.err


def test_a_broken_scenario_is_one_line_with_its_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(SMALL.replace("rtt: 20ms", "rtt: 20"))
    assert main(["simulate", str(path)]) == 2
    error = capsys.readouterr().err.strip()
    assert error == f"{path}:8:30: the duration `20` has no unit (write `20ms`)"


def test_scenarios_lists_and_prints_files_that_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenarios", "-o", "name"]) == 0
    names = capsys.readouterr().out.split()
    assert "sock-shop-100ms" in names
    assert main(["scenarios", "messaging"]) == 0
    (tmp_path / "mine.yaml").write_text(capsys.readouterr().out.replace("duration: 900s", "duration: 60s"))
    assert main(["simulate", str(tmp_path / "mine.yaml"), "-p", "first-fit", "-o", "name"]) == 0


def test_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "-o", "name"]) == 0
    assert {"sophos", "sophos-dag", "sophos-ablation"} <= set(capsys.readouterr().out.split())


@pytest.mark.lasting
def test_the_sophos_experiment_stands_beside_the_published_gains(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "experiment",
        "sophos",
        "--latency",
        "200",
        "--users",
        "1",
        "--trials",
        "3",
        "--no-bound",
        "-o",
        "json",
    ]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    gains = found["tables"][0]
    rows = [dict(zip(gains["header"], row, strict=True)) for row in gains["rows"]]
    policies = ["sophos", "sophos-normalized", "ecotone"]
    assert [(row["latency ms"], row["policy"]) for row in rows] == [(200, policy) for policy in policies]
    sophos, _, ecotone = rows
    assert sophos["published (sophos)"] == "66.0 %"
    assert sophos["minus published"] == f"{float(sophos['gain'].split()[0]) - 66.0:+.1f}"
    assert ecotone["minus published"] is None
    assert " .. " in sophos["95 % interval"]
    split = found["figures"]["200ms"]["sophos"]["breakdown_ms"]
    assert set(split) == {"network", "work", "waiting", "disruption"}
    told = dict(zip(found["tables"][3]["header"], found["tables"][3]["rows"][1], strict=True))
    assert sum(split.values()) == pytest.approx(told["mean ms"], rel=1e-3)


def test_a_policy_of_ones_own_is_compared_with_a_built_in_one_in_one_command(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\n"
        "profiles: [{policy: first-fit, name: mine}, {policy: smallest-edge-first, name: other}]\n"
    )
    command = ["simulate", small, "--config", str(mine), "--policy", "first-fit", "--workers", "2", "-o", "json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["policy"] for each in found["summary"]] == ["first-fit", "mine", "other"]
    theirs, mine_, other = found["runs"]
    assert mine_["response_ms"] == theirs["response_ms"] != other["response_ms"]


def test_a_configuration_alone_is_compared_with_the_default_scheduler(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles: [{policy: sophos, name: mine}]\n"
    )
    assert main(["simulate", small, "--config", str(mine), "-o", "name"]) == 0
    assert capsys.readouterr().out.split() == ["kube-default", "mine"]


def test_two_policies_under_one_name_are_refused(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        "apiVersion: ecotone.dev/v1alpha1\nkind: SchedulerConfiguration\nprofiles: [{policy: sophos, tieDraw: true}]\n"
    )
    assert main(["simulate", small, "--config", str(mine), "--policy", "sophos"]) == 2
    assert "two policies called 'sophos'" in capsys.readouterr().err
