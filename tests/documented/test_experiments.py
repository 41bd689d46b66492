"""The experiments on real nodes that the documentation shows, each on a bed of its own, from nothing to its tables.

The shown command is run with options that make it short: one contender or two, one trial, seconds instead of minutes. Where a
page shows an experiment twice, in whole and in parts, the lines share what they keep, as the page says: what the first has
played is taken up by the next. Experiments that a line only names (`# also ...`) are slow tests: scripts/documented -m
"documented and slow".
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ecotone.model.errors import OutsideError
from ecotone.testbed import requirements
from ecotone.testbed.leftovers import leftovers
from examples.lines import EXPERIMENT, lines_of, pages_of
from fair.waits import WaitMissed
from missing import lacking

KEPT = "docs/results"
OUTSIDE = 3
LATE = re.compile(r"\bno .+ within [\d.]+ s")
"""A named wait of the bed's own, as the command tells that it was missed."""
SECONDS = 600
SHORT = {
    "sophos": "--latency 100 --only ecotone --trials 1 --seconds 5",
    "agreement": "--only cloud --seconds 5",
    "faults": "--only power --quick --seconds 5",
    "pogonip-1": "--only ecotone --seconds 10",
    "communication-aware": "--only kube-default --seconds 5",
    "kubedsm-means": "--only kube-default --seconds 5",
}
PLAYED = {
    "sophos": ["ecotone"],
    "agreement": ["cloud"],
    "faults": ["power cut"],
    "pogonip-1": ["ecotone"],
    "communication-aware": ["kube-default"],
    "kubedsm-means": ["kube-default"],
}


ALSO = {"pogonip-1": "communication-aware", "kubedsm-means": "communication-aware"}
"""Experiments that are named behind the line of another."""


def experiment_of(command: str) -> str:
    return command.split()[3]


def shown() -> dict[str, list[str]]:
    """The lines of every experiment, in the order of the pages."""
    found: dict[str, list[str]] = {}
    for line in lines_of(EXPERIMENT):
        found.setdefault(experiment_of(line.command), []).append(line.command)
    return found | {name: [line.replace(other, name) for line in found[other]] for name, other in ALSO.items()}


def test_what_a_line_only_names_is_named_there() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in pages_of(EXPERIMENT))
    assert f"# also {', '.join(ALSO)}\n" in text


@pytest.fixture(scope="module", autouse=True)
def _a_bed_is_possible() -> None:
    try:
        requirements.check(requirements.binaries_directory())
    except OutsideError as error:
        lacking(str(error))


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow, pytest.mark.testbed] if name in ALSO else []) for name in shown()],
)
def test_an_experiment_is_played_on_a_bed(name: str, tmp_path: Path) -> None:
    first, *others = shown()[name]
    printed = perform(first, name, tmp_path)
    assert [each for each in PLAYED[name] if each not in printed] == []
    assert leftovers() == []
    before = measured(tmp_path)
    assert was_served(before)
    for line in others:
        assert "stored already" in perform(line, name, tmp_path)
        assert measured(tmp_path) == before


def perform(line: str, name: str, folder: Path) -> str:
    words = [str(folder) if word == KEPT else word for word in shlex.split(line.removeprefix("sudo "))]
    assert words[0] == "ecotone" and str(folder) in words, line
    command = [sys.executable, "-m", *words, *shlex.split(SHORT[name])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    late = LATE.search(done.stderr)
    if done.returncode == OUTSIDE and late is not None:
        assert leftovers() == []
        raise WaitMissed(f"{late[0]}: {line}")
    assert done.returncode == 0, f"{line}: {done.stderr[-3000:]}"
    return done.stdout + done.stderr


def measured(folder: Path) -> dict[str, Any]:
    """What was kept, without what the simulator foretold: that is computed anew each time."""
    found = {file.name: json.loads(file.read_text()) for file in folder.glob("testbed-*.json")}
    assert found
    return {name: {key: each for key, each in whole.items() if key != "simulated"} for name, whole in found.items()}


def was_served(value: Any) -> bool:
    """True if users got answers: in some run, or before a fault."""
    if isinstance(value, dict):
        if value.get("mean_before_ms") or value.get("requests", 0) > value.get("failed", 0):
            return True
        value = list(value.values())
    return isinstance(value, list) and any(map(was_served, value))
