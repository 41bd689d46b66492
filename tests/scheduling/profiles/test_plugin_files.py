"""Plugins named by their file: found, used, told apart when they change, and blamed in one line when they are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import cluster, node, pod
from ecotone.experiments.campaign.runs import Job
from ecotone.experiments.campaign.sweep import sweep
from ecotone.manifests.configuration import read_configuration
from ecotone.model.decisions import Bind
from ecotone.model.errors import InputError
from ecotone.scheduling import decide, resolve

GOOD = """
class LastByName:
    name = "LastByName"

    def score(self, cycle, rows):
        return cycle.state.nodes.rank[rows]
"""
SCENARIO = """
apiVersion: ecotone.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 20s
  cluster:
    nodes: [{name: a, cpu: "2", memory: 4Gi}, {name: b, cpu: "2", memory: 4Gi}]
    network: {default: {rtt: 10ms}}
  application: {name: shop, services: [{name: web, requests: {cpu: 100m}, endpoints: [{name: get, cpu: 2ms}]}]}
  load: [{at: 5s, for: 15s, entry: web.get, from: [a], arrivals: {users: 2, every: 1s}}]
"""


def written(folder: Path, text: str, name: str = "mine.py") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def nodes_of(policy: str) -> list[str]:
    state = cluster([node("a"), node("b")], [pod("web-0")])
    return [each.node for each in decide(state.freeze(), policy).decisions if isinstance(each, Bind)]


def test_a_plugin_in_a_file_is_a_policy_named_after_its_class(tmp_path: Path) -> None:
    policy = f"{written(tmp_path, GOOD)}:LastByName"
    assert resolve(policy).name == "LastByName"
    assert nodes_of(policy) == ["b"]


def test_a_filter_alone_leaves_the_ranking_to_the_default_scores(tmp_path: Path) -> None:
    text = """
class NotA:
    name = "NotA"

    def filter(self, cycle, rows):
        return cycle.state.nodes.rank[rows] > 0

    def reject(self, cycle, rows):
        return [None if passes else "it is a" for passes in self.filter(cycle, rows)]
"""
    assert nodes_of(f"{written(tmp_path, text)}:NotA") == ["b"]


def test_a_changed_file_is_read_again_and_its_runs_are_other_runs(tmp_path: Path) -> None:
    policy = f"{written(tmp_path, GOOD)}:LastByName"
    before = Job(SCENARIO, "s.yaml", policy, 0, 1).key
    assert nodes_of(policy) == ["b"]
    written(tmp_path, GOOD.replace("return cycle", "return -cycle"))
    assert nodes_of(policy) == ["a"]
    assert Job(SCENARIO, "s.yaml", policy, 0, 1).key != before


def test_worker_processes_find_the_plugin(tmp_path: Path) -> None:
    profile = resolve(f"{written(tmp_path, GOOD)}:LastByName")
    runs = sweep([Job(SCENARIO, "s.yaml", profile, trial, 1) for trial in range(2)], workers=2)
    assert [set(run.placement[-1][1]["web"]) for run in runs] == [{"b"}, {"b"}]


def test_a_mistake_in_a_worker_process_is_the_authors_line_too(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace("return cycle.state.nodes.rank[rows]", "return 1 / 0"))
    profile = resolve(f"{file}:LastByName")
    with pytest.raises(InputError, match=rf"{file}:6: LastByName.score: ZeroDivisionError"):
        sweep([Job(SCENARIO, "s.yaml", profile, trial, 1) for trial in range(2)], workers=2)


def test_a_profile_names_a_plugin_relative_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = GOOD.replace("    def score", "    def __init__(self, sign=1):\n        self.sign = sign\n\n    def score")
    written(tmp_path, text.replace("return cycle", "return self.sign * cycle"))
    file = tmp_path / "profile.yaml"
    file.write_text("""
apiVersion: ecotone.dev/v1alpha1
kind: SchedulerConfiguration
profiles:
  - name: mine
    policy: first-fit
    plugins: {score: {enabled: [{name: ./mine.py:LastByName, weight: 50}]}}
    pluginConfig: [{name: ./mine.py:LastByName, args: {sign: 2}}]
""")
    monkeypatch.chdir("/")
    (profile,) = read_configuration(file)
    state = cluster([node("a"), node("b")], [pod("web-0")])
    (decision,) = decide(state.freeze(), profile).decisions
    assert isinstance(decision, Bind) and decision.node == "b"


SCORES = {
    "[1.0, 2.0, 3.0]": "returned 3 figures for 2 nodes",
    "[1.0]": "returned 1 figures for 2 nodes",
    "5.0": "returned 0-dimensional figures for 2 nodes",
    "['x', 'y']": "returned list, not an array of numbers",
    "'xy'": "returned str, not an array of numbers",
    "[float('nan'), 1.0]": "returned a figure that is no number for 1 of 2 nodes",
    "[float('inf')] * 2": "returned a figure that is no number for 2 of 2 nodes",
    "[[1.0], [1.0, 2.0]]": "returned figures of different lengths",
    "{'a': 1}": "returned dict, not an array of numbers",
    "cycle.nonsense": "AttributeError",
    "rows[99]": "IndexError",
    "__import__('sys').exit(9)": "SystemExit: 9",
}


@pytest.mark.parametrize(("answer", "says"), SCORES.items())
def test_a_wrong_score_is_one_line_with_the_authors_place(tmp_path: Path, answer: str, says: str) -> None:
    file = written(tmp_path, GOOD.replace("cycle.state.nodes.rank[rows]", answer))
    with pytest.raises(InputError) as caught:
        nodes_of(f"{file}:LastByName")
    assert str(caught.value).startswith(f"{file}:") and "LastByName.score" in str(caught.value)
    assert says in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("class A(:\n", "A", ":1: not valid Python"),
        ("import nothing_of_the_kind\n", "A", ":1: mine.py: ModuleNotFoundError"),
        ("1 / 0\n", "A", ":1: mine.py: ZeroDivisionError"),
        (GOOD, "LastByNam", "there is no class LastByNam (did you mean 'LastByName'?)"),
        ("x = 1\n", "A", "there is no class A (it has no class)"),
        (GOOD.replace('name = "LastByName"', "pass"), "LastByName", "LastByName has no name"),
        ("raise SystemExit(3)\n", "A", ":1: mine.py: SystemExit: 3"),
        (GOOD.replace("def score", "def scores"), "LastByName", "LastByName implements nothing (give it one of "),
        (
            GOOD.replace("    def score", "    def __init__(self, x):\n        pass\n\n    def score"),
            "LastByName",
            "'x'",
        ),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, name: str, says: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        nodes_of(f"{file}:{name}")
    assert str(file) in str(caught.value) and says in str(caught.value)


@pytest.mark.parametrize(("text", "says"), [(GOOD, "mine.py:LastByName"), ("x = 1\n", "it has no class")])
def test_a_file_alone_asks_for_the_class(tmp_path: Path, text: str, says: str) -> None:
    file = written(tmp_path, text)
    for given in (str(file), f"{file}:"):
        with pytest.raises(InputError, match="which class of it is the policy") as caught:
            resolve(given)
        assert says in str(caught.value)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"mine.py: cannot be read: No such file or directory"):
        resolve(f"{tmp_path}/mine.py:A")
