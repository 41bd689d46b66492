"""Results side by side, and one scenario over the values of a parameter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.running import Run

SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 30s
  cluster:
    nodes: [{name: a, cpu: "2", memory: 4Gi}, {name: b, cpu: "2", memory: 4Gi}]
    network: {default: {rtt: 10ms}}
  application: {name: shop, services: [{name: web, pinned: b, endpoints: [{name: get, cpu: 2ms}]}]}
  load: [{at: 5s, for: 15s, entry: web.get, from: [a], arrivals: {users: 2, every: 1s}}]
"""


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.yaml").write_text(SCENARIO)
    return "small.yaml"


def saved(run: Run, scenario: str, name: str, *words: str) -> str:
    Path(name).write_text(run("simulate", scenario, "--workers", "1", "-o", "json", *words).out)
    return name


def test_a_policy_of_two_files_is_told_apart_by_its_file(run: Run, scenario: str) -> None:
    one = saved(run, scenario, "monday.json", "-p", "first-fit")
    other = saved(run, scenario, "tuesday.json", "-p", "first-fit", "-p", "random", "--seed", "2")
    result = run("compare", one, other, "-o", "json", "--report", "page")
    document = json.loads(result.out)
    assert [each["policy"] for each in document["summary"]] == ["first-fit (monday)", "first-fit (tuesday)", "random"]
    page = Path("page/index.html").read_text()
    assert "first-fit (tuesday)" in page and "ecotone compare monday.json tuesday.json" in page


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no JSON"),
        ("[]", "it has no `runs`"),
        ('{"runs": []}', "has no runs"),
        ('{"runs": [{}]}', "no result of this version"),
        ('{"runs": [' + "[" * 100_000, "no JSON"),
    ],
)
def test_what_is_no_result_is_one_line(run: Run, scenario: str, content: str, says: str) -> None:
    Path("broken.json").write_text(content)
    result = run("compare", "broken.json")
    assert result.code == 2 and says in result.err and result.err.count("\n") == 1


def test_a_sweep_runs_every_value_and_draws_a_curve(run: Run, scenario: str) -> None:
    words = ("simulate", scenario, "-p", "first-fit", "--workers", "1", "--set", "network.default.rtt=10ms,40ms,100ms")
    result = run(*words, "-o", "json", "--report", "page")
    entries = json.loads(result.out)["sweep"]
    assert [each["set"] for each in entries] == [{"network.default.rtt": value} for value in ("10ms", "40ms", "100ms")]
    p95 = [each["summary"][0]["p95_ms"] for each in entries]
    assert p95[0] + 25 < p95[1] < p95[2] - 50
    page = Path("page/index.html").read_text()
    assert "Over network.default.rtt" in page and "--set network.default.rtt=10ms,40ms,100ms" in page


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("network.default.rtt", "not a setting"),
        ("network.default.rtt=1ms,,2ms", "not a setting"),
        ("network.defalt.rtt=1ms", "did you mean 'default'?"),
        ("network.default.rtt=fast", "fast"),
        ("load.9.for=1s", "no item of a list"),
        ("duration=" + ",".join(f"{number}s" for number in range(31, 300)), "more than 200"),
    ],
)
def test_a_wrong_setting_is_one_line(run: Run, scenario: str, setting: str, says: str) -> None:
    result = run("simulate", scenario, "-p", "first-fit", "--set", setting)
    assert result.code == 2 and says in result.err and result.err.count("\n") == 1
