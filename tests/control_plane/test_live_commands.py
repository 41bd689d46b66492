"""explain, plan and apply on a live cluster: the same answers as on its export, also through kubectl."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from control_plane.closed_loop import known
from control_plane.cluster import Cluster, Refused, collection
from control_plane.objects import node, pod
from control_plane.processes import wait_until
from control_plane.programs import environment, run_ecotone
from control_plane.waiting import clear, placement
from ecotone.manifests import figures_policy
from ecotone.manifests.files import read_paths

API = {"apiVersion": "ecotone.dev/v1alpha1", "kind": "AppGroup"}


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(controllers=False)
    yield cluster
    cluster.stop()


@pytest.fixture(autouse=True)
def scene(cluster: Cluster) -> Iterator[None]:
    cluster.create(node("n1"), node("n2", cpu="1"), pod("there", nodeName="n1"), pod("waits", cpu="2"), pod("small"))
    yield
    clear(cluster)


def export(cluster: Cluster, path: Path) -> Path:
    exported = cluster.kubectl("get", "nodes,pods,namespaces,services", "-A", "-o", "json")
    assert exported.returncode == 0, exported.stderr
    path.write_text(exported.stdout)
    return path


def test_live_and_exported_give_the_same_answer(cluster: Cluster, tmp_path: Path) -> None:
    file = export(cluster, tmp_path / "cluster.json")
    for command in (["explain", "default/waits"], ["plan"]):
        live = run_ecotone(cluster, *command, "--policy=kube-default", "-o", "json")
        exported = run_ecotone(cluster, *command, "--policy=kube-default", "-o", "json", "-f", str(file))
        assert live[0] == exported[0] == 0, live[2] + exported[2]
        assert json.loads(live[1]) == json.loads(exported[1])


def test_apply_does_what_its_dry_run_says(cluster: Cluster) -> None:
    code, told, problems = run_ecotone(cluster, "apply", "--policy=kube-default", "--dry-run", "-o", "json")
    assert code == 0, problems
    steps = json.loads(told)["steps"]
    assert {one["pod"] for one in steps} == {"default/waits", "default/small"}
    assert set(placement(cluster)) == {"there"}, "a dry run changes nothing"
    code, done, problems = run_ecotone(cluster, "apply", "--policy=kube-default", "-o", "json")
    assert code == 0, problems
    assert json.loads(done)["steps"] == steps
    where = placement(cluster)
    assert {one["pod"].removeprefix("default/"): one["node"] for one in steps} == {
        name: where[name] for name in ("waits", "small")
    }


def test_what_an_app_group_promises_is_read_from_a_live_cluster(cluster: Cluster) -> None:
    code, printed, problems = run_ecotone(cluster, "manifests", "crds")
    assert code == 0, problems
    for one in yaml.safe_load_all(printed):
        cluster.call("POST", collection(one), one)
    wait_until(lambda: known(cluster), timeout=30, what="custom resources")
    qos = {"latency": {"edge": 20, "cloud": 150}}
    group = {
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"name": "shop", "runPeriod": 30, "qos": qos},
    }
    cluster.call("POST", "/apis/ecotone.dev/v1alpha1/namespaces/default/appgroups", API | group)
    code, snapshot, problems = run_ecotone(cluster, "snapshot", "-o", "json")
    assert code == 0, problems
    found = [one for one in json.loads(snapshot)["items"] if one["kind"] == "AppGroup"]
    assert [one["spec"]["qos"]["latency"] for one in found] == [qos["latency"]]


def test_kubectl_finds_us_as_a_plugin(cluster: Cluster, tmp_path: Path) -> None:
    plugin = tmp_path / "kubectl-ecotone"
    plugin.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -c "import sys; from ecotone.cli import main; sys.exit(main())" "$@"\n'
    )
    plugin.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    env = environment(PATH=path, KUBECONFIG=str(cluster.kubeconfig))
    done = cluster.kubectl(
        "ecotone", "explain", "pod/waits", "--policy=kube-default", "-o", "json", env=env, plain=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["node"] == "n1"


def test_an_unreachable_cluster_is_one_line_and_exit_code_3(cluster: Cluster, tmp_path: Path) -> None:
    dead = cluster.kubeconfig.read_text().replace(cluster.server, "https://127.0.0.1:1")
    (tmp_path / "config").write_text(dead)
    code, out, problems = run_ecotone(cluster, "plan", "--kubeconfig", str(tmp_path / "config"))
    assert (code, out) == (3, "")
    assert len(problems.strip().splitlines()) == 1


def test_what_is_measured_counts_only_where_somebody_answers_for_it(cluster: Cluster, tmp_path: Path) -> None:
    """Every verb that reads the cluster: the binding goes, figures go with it; somebody's word brings them back."""
    path = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{figures_policy.NAME}"
    notes = {"ecotone.dev/available-cpu": "1500m", "ecotone.dev/latencies": '{"n2": 5}'}
    body = {"metadata": {"annotations": notes}}
    cluster.call("PATCH", "/api/v1/nodes/n1", body, content_type="application/merge-patch+json")

    def seen(*options: str) -> tuple[bool, bool, str]:
        """Whether the dump holds the figures and vouches for them, and what the command noted."""
        code, text, problems = run_ecotone(cluster, "snapshot", "-o", "json", *options)
        assert code == 0, problems
        items = {one["metadata"]["name"]: one for one in json.loads(text)["items"]}
        file = tmp_path / "dump.json"
        file.write_text(text)
        replayed = read_paths([file])
        return "ecotone.dev/latencies" in items["n1"]["metadata"].get("annotations", {}), replayed.vouched, problems

    assert seen() == (True, True, "")
    cluster.call("DELETE", path)
    try:
        figures, vouched, noted = seen()
        assert not figures and not vouched and "not believed" in noted
        assert seen("--trust-annotations") == (True, True, "")
        for command in (["plan"], ["explain", "default/waits"], ["apply", "--dry-run"]):
            assert "not believed" in run_ecotone(cluster, *command)[2], command
            assert "not believed" not in run_ecotone(cluster, *command, "--trust-annotations")[2], command
    finally:
        cluster.create(figures_policy.binding())
    assert seen() == (True, True, "")


def test_status_says_whether_what_is_measured_is_believed(cluster: Cluster) -> None:
    code, printed, problems = run_ecotone(cluster, "manifests", "crds", "-o", "json")
    assert code == 0, problems
    for one in json.loads(printed)["items"]:
        with contextlib.suppress(Refused):
            cluster.call("POST", collection(one), one)
    wait_until(lambda: known(cluster), timeout=30, what="custom resources")
    group = {**API, "metadata": {"name": "believed"}, "spec": {"name": "believed"}}
    path = "/apis/ecotone.dev/v1alpha1/namespaces/default/appgroups"
    cluster.call("POST", path, group)
    binding = f"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/{figures_policy.NAME}"
    try:
        code, text, noted = run_ecotone(cluster, "status", "-n", "default", "-o", "json")
        told = next(one for one in json.loads(text) if one["application"] == "default/believed")
        assert told["believed"] == {"holds": True, "reason": ""} and noted == ""
        cluster.call("DELETE", binding)
        _, text, noted = run_ecotone(cluster, "status", "-n", "default", "-o", "json")
        told = next(one for one in json.loads(text) if one["application"] == "default/believed")
        assert not told["believed"]["holds"] and "not bound" in told["believed"]["reason"] and "not believed" in noted
    finally:
        cluster.call("DELETE", f"{path}/believed")
        with contextlib.suppress(Refused):
            cluster.create(figures_policy.binding())
