"""Pods meant by workload, by labels, several at once; and a plan's exit code."""

import json

import pytest

from cli.running import Run
from ecotone.manifests.yaml.text import yaml_text
from manifests.builders import node, owned, pod


@pytest.fixture
def cluster(tmp_path) -> str:
    def web(number: int) -> dict[str, object]:
        labels = {"app": "web", "tier": "front"}
        return pod(f"web-{number}", namespace="shop", labels=labels, ownerReferences=owned("Deployment", "web"))

    things = [
        node("n1"),
        node("n2"),
        web(0),
        web(1),
        pod("db-0", namespace="shop", labels={"app": "db"}, ownerReferences=owned("StatefulSet", "db")),
        pod("db-1", namespace="other", labels={"app": "db"}, ownerReferences=owned("StatefulSet", "db")),
        pod("giant", cpu="100"),
    ]
    file = tmp_path / "cluster.yaml"
    file.write_text(yaml_text(things))
    return str(file)


def pods(run: Run, cluster: str, *words: str) -> list[str]:
    answer = json.loads(run("explain", "-f", cluster, "-p", "first-fit", "-o", "json", *words).out)
    return [each["pod"] for each in answer] if isinstance(answer, list) else [answer["pod"]]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["deploy/web"], ["shop/web-0", "shop/web-1"]),
        (["deployment.apps/web", "shop/web-1"], ["shop/web-0", "shop/web-1"]),
        (["statefulset/db", "-n", "shop"], ["shop/db-0"]),
        (["other/sts/db"], ["other/db-1"]),
        (["web-1", "pod/giant"], ["shop/web-1", "default/giant"]),
        (["-l", "app=web"], ["shop/web-0", "shop/web-1"]),
        (["-l", "app=db", "-n", "other"], ["other/db-1"]),
        (["-l", "app in (web, db),tier!=front"], ["other/db-1", "shop/db-0"]),
        (["-l", "app notin (web),app"], ["other/db-1", "shop/db-0"]),
        (["-l", "!app"], ["default/giant"]),
    ],
)
def test_pods_by_workload_labels_and_lists(run, cluster, words, meant):
    assert pods(run, cluster, *words) == meant


def test_one_pod_is_one_object_and_several_are_a_list(run, cluster):
    one = json.loads(run("explain", "-f", cluster, "sts/db", "-n", "shop", "-o", "json").out)
    several = json.loads(run("explain", "-f", cluster, "deploy/web", "-o", "json").out)
    assert isinstance(one, dict) and isinstance(several, list)
    assert set(one) == set(several[0])


def test_several_pods_are_told_one_after_the_other_and_as_one_csv(run, cluster):
    told = run("explain", "-f", cluster, "deploy/web").out
    assert told.index("Pod shop/web-0") < told.index("Pod shop/web-1")
    lines = run("explain", "-f", cluster, "deploy/web", "-o", "csv").out.splitlines()
    assert lines[0].startswith("POD,-,NODE") and len(lines) == 5
    assert [line.split(",")[0] for line in lines[1:]] == ["shop/web-0"] * 2 + ["shop/web-1"] * 2


def test_one_pod_of_several_that_fits_nowhere_is_a_no(run, cluster):
    assert run("explain", "-f", cluster, "web-0", "giant", "-o", "name").code == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "Missing argument 'POD'"),
        (["deploy/wep"], "did you mean 'web'"),
        (["sts/db"], "several namespaces"),
        (["-l", "app=nope"], "no pod carries the labels 'app=nope'"),
        (["-l", "app=web=x"], "no label selector"),
        (["deploy/web", "--scheduler", "http://127.0.0.1:1", "-l", "app=web"], "one pod"),
    ],
)
def test_what_means_no_pod_is_one_line(run, cluster, words, said):
    result = run("explain", "-f", cluster, *words)
    assert result.code == 2 and said in result.err and len(result.err.splitlines()) == 1


def test_a_plan_may_say_by_its_exit_code_that_there_is_something_to_do(run, cluster, tmp_path):
    assert run("plan", "-f", cluster).code == 0
    assert run("plan", "-f", cluster, "--exit-code").code == 1
    waits = tmp_path / "waits.yaml"
    waits.write_text(yaml_text([node("n1"), pod("giant", cpu="100")]))
    only = run("plan", "-f", str(waits), "--exit-code")
    assert (only.code, "1 pod would wait" in only.err) == (0, True)
