"""A package of somebody else's adds a plugin and a solver by declaring entry points: tried with a real wheel."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ecotone.model import Bind, ClusterState, InputError, Node, Pod, PodKind, WorkloadKey
from ecotone.scheduling import Profile, Solver, Use, decide
from ecotone.scheduling.profiles.registry import plugin_names, solver_names

MODULE = """
import numpy as np
from ecotone.model import Bind, Decisions


class LastByName:
    name = "LastByName"
    placement_changes = "nothing"

    def __init__(self, bonus=0):
        self.bonus = bonus

    def score(self, cycle, rows):
        return cycle.state.nodes.rank[rows] + float(self.bonus)


def everything_on(snapshot, pods, node):
    return Decisions(tuple(Bind(pod.key, node, "told to", uid=pod.uid) for pod in pods))
"""
INFO = "acme_policies-1.0.dist-info"
FILES = {
    "acme_policies.py": MODULE,
    f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: acme-policies\nVersion: 1.0\n",
    f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{INFO}/entry_points.txt": (
        "[ecotone.plugins]\nLastByName = acme_policies:LastByName\n"
        "[ecotone.solvers]\neverything-on = acme_policies:everything_on\n"
    ),
}


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = tmp_path / "acme_policies-1.0-py3-none-any.whl"
    record = "".join(f"{name},,\n" for name in (*FILES, f"{INFO}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in (FILES | {f"{INFO}/RECORD": record}).items():
            archive.writestr(name, text)
    site = tmp_path / "site"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(pip, check=True)
    monkeypatch.syspath_prepend(str(site))


def two_nodes_and_a_pod() -> ClusterState:
    state = ClusterState()
    state.set_nodes(Node(name, {"cpu": 1000, "pods": 10}) for name in ("a", "b"))
    state.put_pod(Pod("web-0", "uid-0", PodKind("default", WorkloadKey("default", "web"))))
    return state


def test_a_plugin_from_a_wheel_is_used_by_naming_it(acme: None) -> None:
    assert "LastByName" in plugin_names()
    profile = Profile("acme", enabled=(Use("PrioritySort"), Use("LastByName")), args={"LastByName": {"bonus": 1}})
    (decision,) = decide(two_nodes_and_a_pod().freeze(), profile).decisions
    assert isinstance(decision, Bind)
    assert decision.node == "b"


def test_a_solver_from_a_wheel_takes_over_the_whole_decision(acme: None) -> None:
    assert "everything-on" in solver_names()
    profile = Profile("acme", solver=Solver("everything-on", {"node": "a"}))
    (decision,) = decide(two_nodes_and_a_pod().freeze(), profile).decisions
    assert decision == Bind("default/web-0", "a", "told to", uid="uid-0")


def test_a_wrong_argument_is_the_users_error_not_a_traceback(acme: None) -> None:
    profile = Profile("acme", enabled=(Use("PrioritySort"), Use("LastByName")), args={"LastByName": {"bonnus": 1}})
    with pytest.raises(InputError, match=r"LastByName.*bonnus"):
        decide(two_nodes_and_a_pod().freeze(), profile)


def test_an_unknown_plugin_gets_the_nearest_name() -> None:
    profile = Profile("typo", enabled=(Use("PrioritySort"), Use("FirstFitt")))
    with pytest.raises(InputError, match="did you mean 'FirstFit'"):
        decide(two_nodes_and_a_pod().freeze(), profile)


def test_a_profile_without_a_queue_order_is_refused() -> None:
    with pytest.raises(InputError, match="exactly one queueSort"):
        decide(two_nodes_and_a_pod().freeze(), Profile("none", enabled=(Use("FirstFit"),)))
