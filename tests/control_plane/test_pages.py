"""The documentation's commands that need a cluster, run against one.

Commands of ours that end run in this process, those that serve are started as they are written, asked whether they are well,
and ended. Images and the chart have tests of their own (tests/documented).
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from control_plane.cluster import Cluster
from control_plane.objects import node, pod
from control_plane.processes import Child, free_ports, wait_until
from control_plane.programs import ECOTONE, environment
from examples.lines import CLUSTER, INSTALLING, SERVING, lines_of, pages_of
from examples.transcripts import EXPORT, REPOSITORY, healthy, lay_out, name_of, run


@pytest.fixture(scope="module")
def cluster(start_cluster: Callable[..., Cluster]) -> Iterator[Cluster]:
    cluster = start_cluster(controllers=False)
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    cluster.create(node("n1"), node("n2"), pod("front-end-0", namespace="shop", nodeName="n1"))
    given = run("ecotone manifests crds", notes=False)
    applied = subprocess.run(
        [cluster.bin / "kubectl", f"--kubeconfig={cluster.kubeconfig}", "apply", "-f", "-"],
        input=given, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert applied.returncode == 0, applied.stderr
    yield cluster
    cluster.stop()


@pytest.fixture
def folder(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "deploy").symlink_to(REPOSITORY / "deploy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    return tmp_path


def perform(cluster: Cluster, line: str) -> str:
    """One line as a shell would run it: a document fed in, a pipe, what is printed into a file."""
    first, _, fed = line.partition("\n")
    first, _, target = first.partition(" > ")
    given = fed.removesuffix("EOF")
    for part in first.removesuffix(" <<EOF").split(" | "):
        program, *words = shlex.split(part, comments=True)
        if program == "ecotone":
            given = run(part, notes=False, allowed=(0,))
            continue
        assert program == "kubectl", line
        command = [str(cluster.bin / program), *words]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, f"{line}: {done.stderr}"
        given = done.stdout
    if target:
        Path(target).write_text(given, encoding="utf-8")
    return given


@pytest.fixture(scope="module")
def installed(cluster: Cluster) -> set[str]:
    """The lines that install Ecotone and have been run: several pages show the same one, and nothing here removes it."""
    return set()


@pytest.mark.parametrize("page", pages_of(CLUSTER), ids=name_of)
def test_the_commands_of_a_page_end_well(cluster: Cluster, folder: Path, installed: set[str], page: Path) -> None:
    lay_out(page.read_text(encoding="utf-8"), folder)
    for line in lines_of(CLUSTER, page):
        if line.command not in installed:
            perform(cluster, line.command)
        if line.command.startswith("ecotone manifests "):
            installed.add(line.command)


def test_an_export_of_this_cluster_is_what_five_minutes_need(cluster: Cluster, folder: Path) -> None:
    (line,) = (each.command for each in lines_of(CLUSTER, REPOSITORY / "docs" / "five-minutes.md"))
    perform(cluster, line)
    assert "pods_waiting" in run("ecotone plan -f cluster.yaml -o json", notes=False)
    kinds = re.compile(r"kubectl get (\S+) -A")
    example = kinds.search((EXPORT.parent / "README.md").read_text(encoding="utf-8"))
    asked = kinds.search(line)
    assert asked is not None and example is not None and asked[1] == example[1]


def test_programs_that_serve_are_well_and_end_when_asked(cluster: Cluster, folder: Path) -> None:
    lines = [line.command for line in lines_of(SERVING)]
    assert len(lines) >= 6
    started: list[tuple[str, Child]] = []
    for number, (line, port) in enumerate(zip(lines, free_ports(len(lines)), strict=True)):
        words = shlex.split(re.sub(r" --listen \S+", "", line))[1:]
        address = f"127.0.0.1:{port}"
        command = [*ECOTONE, *words, f"--listen={address}"]
        env = environment(KUBECONFIG=str(cluster.kubeconfig))
        started.append((address, cluster.child(f"page-{number}", command, env=env)))
    for address, child in started:
        wait_until(partial(healthy, address), timeout=60, what="healthy program", child=child)
    for _, child in started:
        assert child.stop(grace=10.0) == 0
        cluster.forget(child)


def test_what_is_installed_as_the_page_says_is_removed_as_it_says(cluster: Cluster, folder: Path) -> None:
    lines = [line.command for line in lines_of(INSTALLING)]
    removal = [line for line in lines if "delete" in line or "cleanup" in line]
    assert len(removal) == 2
    for line in lines:
        if line not in removal:
            perform(cluster, line)
    assert "ecotone-scheduler" in perform(cluster, "kubectl get deployments -n kube-system")
    for line in removal:
        perform(cluster, line)
    assert "ecotone" not in perform(cluster, "kubectl get deployments,clusterroles,customresourcedefinitions -A")
