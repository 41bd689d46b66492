# ruff: noqa: E501 - a table reads better unwrapped
"""What cannot be used is told: on stderr as a note, and as an error with --strict."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import Run

CLUSTER = """
apiVersion: v1
kind: Node
metadata:
  name: n1
  annotations: {NODE}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "110"}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  annotations: {WORKLOAD}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, resources: {requests: {cpu: 100m}}}]}
"""
SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 20s
  cluster: {nodes: [{name: a, cpu: "2", memory: 4Gi}], network: {default: {rtt: 10ms}}}
  application:
    name: shop
    services:
      - {name: web, endpoints: [{name: get, cpu: 2ms}]}
      - {name: large, requests: {memory: MEMORY}, endpoints: [{name: get, cpu: 2ms}]}
  load: [{at: 5s, for: 15s, entry: web.get, from: [a], arrivals: {users: 2, every: 1s}}]
"""


def written(folder: Path, *, node: str = "{}", workload: str = "{}") -> str:
    file = folder / "cluster.yaml"
    file.write_text(CLUSTER.replace("{NODE}", node).replace("{WORKLOAD}", workload))
    return str(file)


@pytest.mark.parametrize(
    ("where", "notes", "says"),
    [
        ("workload", "{ecotone.dev/afinity: '{}'}", "ecotone.dev/afinity is no key of ours and is ignored (did you mean ecotone.dev/affinity?)"),
        ("node", "{ecotone.dev/latencys: '{}'}", "did you mean ecotone.dev/latencies?"),
        ("node", "{ecotone.dev/latencies: '{\"n2\": -10}'}", "ecotone.dev/latencies: the figure of 'n2' is no number that can be"),
        ("node", "{ecotone.dev/latencies: '{\"n2\": NaN}'}", "the figure of 'n2' is no number that can be"),
        ("node", "{ecotone.dev/latencies: '{\"n2\": \"10ms\"}'}", "the figure of 'n2' is no number that can be"),
        ("node", "{ecotone.dev/latencies: 'n2=10'}", "ecotone.dev/latencies cannot be read and counts as not given"),
        ("workload", "{ecotone.dev/traffic: '{\"db\": \"much\"}'}", "ecotone.dev/traffic: the figure of 'db'"),
        ("workload", "{ecotone.dev/index: first}", "ecotone.dev/index cannot be read"),
        ("node", "{ecotone.dev/latencies: '{\"n2\": -1, \"n3\": \"x\"}'}", "the figures of 'n2' and 'n3' are no numbers that can be"),
        ("node", "{ecotone.dev/tier: egde}", "ecotone.dev/tier 'egde' is no tier and counts as not given (did you mean edge?)"),
        ("node", "{ecotone.dev/tier: orbit}", "ecotone.dev/tier 'orbit' is no tier and counts as not given (cloud, fog or edge)"),
        ("workload", "{ecotone.dev/affinity: '{\"wep\": 5}'}", "ecotone.dev/affinity names 'wep', and there is no such workload (did you mean web?)"),
    ],
)  # fmt: skip
def test_an_annotation_that_cannot_be_used(run: Run, tmp_path: Path, where: str, notes: str, says: str) -> None:
    file = written(tmp_path, **{where: notes})
    told = run("plan", "-f", file)
    assert told.code == 0 and says in told.err
    strict = run("plan", "-f", file, "--strict")
    assert (strict.code, strict.out) == (2, "") and says in strict.err and strict.err.count("\n") == 1


def test_what_is_right_is_not_noted_even_if_strict(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path, node='{ecotone.dev/latencies: \'{"n2": 10, "n3": "2.5"}\', example.com/afinity: x}')
    result = run("plan", "-f", file, "--strict", "-n", "shop")
    assert result.code == 0 and "ignored" not in result.err and "no number" not in result.err


def test_a_namespace_that_is_nowhere(run: Run, tmp_path: Path) -> None:
    file = written(tmp_path)
    assert "nothing is in namespace 'shopp' (did you mean 'shop'?)" in run("plan", "-f", file, "-n", "shopp").err
    assert run("plan", "-f", file, "-n", "shopp", "--strict").code == 2


def test_pods_that_fit_nowhere_in_a_simulation_are_told(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "s.yaml"
    file.write_text(SCENARIO.replace("MEMORY", "300Gi"))
    result = run("simulate", file, "-p", "first-fit")
    assert result.code == 1 and "UNPLACED" in result.out
    assert "note: first-fit: 1 pod fit nowhere at the end of a run: large-1" in result.err
    file.write_text(SCENARIO.replace("MEMORY", "1Gi"))
    result = run("simulate", file, "-p", "first-fit")
    assert result.code == 0 and "UNPLACED" not in result.out and result.err == ""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("{name: a, ", "{name: a, tier: egde, ", "node a: tier 'egde' means nothing to any policy (did you mean edge?)"),
        ("{name: a, ", "{name: a, tier: orbit, ", "policies know cloud, fog and edge"),
        ("load: [", "load: [{at: 20s, for: 5s, entry: web.get, from: [a], arrivals: {users: 1, every: 1s}}, ", "load on web.get begins at 20 s, when the scenario of 20 s is over"),
        ("  load:", "  events: [{at: 30s, node: a, state: down}]\n  load:", "node a changes at 30 s, when the scenario of 20 s is over"),
        ("    services:", "    traces: {web: [[0s, 1], [25s, 2]]}\n    services:", "the trace of web goes on at 25 s"),
    ],
)  # fmt: skip
def test_what_has_no_effect_in_a_scenario(run: Run, tmp_path: Path, old: str, new: str, says: str) -> None:
    file = tmp_path / "scenario.yaml"
    text = SCENARIO.replace("MEMORY", "1Gi")
    assert old in text
    file.write_text(text.replace(old, new, 1))
    told = run("simulate", str(file), "-p", "first-fit", "--workers", "1")
    assert told.code == 0 and says in told.err and told.err.startswith("note: ")
    strict = run("simulate", str(file), "-p", "first-fit", "--strict")
    assert (strict.code, strict.out) == (2, "") and says in strict.err and strict.err.count("\n") == 1


def test_nothing_in_a_built_in_scenario_is_without_effect() -> None:
    from ecotone.sim.scenario import builtin_scenarios, load_scenario
    from ecotone.sim.scenario.remarks import remarks

    assert {name: told for name in builtin_scenarios() if (told := remarks(load_scenario(name)))} == {}
