"""The gate itself: what was only late may pass when it is asked again, everything else is final."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fair.plugin import GATE
from fair.run import FLAKY, TESTS

Gate = Callable[..., subprocess.CompletedProcess[str]]

START = """
import pathlib, sys
from fair import run
page, *arguments = sys.argv[1:]
sys.exit(run.run(arguments, pathlib.Path("gate"), pathlib.Path(page)))
"""
HEAD = """
import pathlib
import pytest
from fair.waits import WaitMissed, wait_until

def again(name):
    mark = pathlib.Path(__file__).with_name(name)
    try:
        return mark.exists()
    finally:
        mark.touch()

def late(name, what="leader"):
    now = again(name)
    wait_until(lambda: now, timeout=0.01, what=what)
"""
SLOW_WAIT = """
@pytest.mark.control_plane
def test_slow(): late("slow")
"""
GOOD = """
def test_good(): pass
"""


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Runs a file of tests as the gate would; ``known`` are rows of the page of flaky tests."""
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["fair.plugin"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    control_plane\n    live\n")
    (tmp_path / "gate").mkdir()

    def run(text: str, *arguments: str, known: str = "") -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(HEAD + text)
        page = tmp_path / "flaky.md"
        page.write_text(known)
        outer = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", GATE))}
        env = {**outer, "PYTHONPATH": str(TESTS), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = [sys.executable, "-c", START, str(page), "-p", "xdist", "-p", "no:cacheprovider", *arguments]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)

    return run


def flaky(tmp_path: Path) -> list[str]:
    file = tmp_path / "gate" / FLAKY
    return file.read_text().splitlines() if file.exists() else []


def test_a_slow_wait_that_is_met_when_asked_again_passes_as_flaky(gate: Gate, tmp_path: Path) -> None:
    done = gate(SLOW_WAIT + GOOD)
    assert done.returncode == 0, done.stdout
    assert "1 passed, 1 late" in done.stdout and "1 passed, 1 deselected" in done.stdout
    (line,) = flaky(tmp_path)
    assert re.search(
        r"flaky: test_it.py::test_slow: no leader within \d+ s \(load of \d+\.\d a core\); passed alone", line
    )
    assert re.search(r"fair: for flaky.md: \| `test_it.py::test_slow` \| \d{4}-\d\d-\d\d \|  \|", done.stdout)


def test_workers_side_by_side_tell_of_slow_waits_too_and_the_second_run_is_alone(gate: Gate, tmp_path: Path) -> None:
    done = gate(SLOW_WAIT + GOOD, "-n", "2", "--dist", "loadfile")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("bringing up nodes") <= 1 and len(flaky(tmp_path)) == 1


def test_a_wait_that_is_missed_again_fails(gate: Gate, tmp_path: Path) -> None:
    done = gate("@pytest.mark.live\ndef test_never(): wait_until(lambda: False, timeout=0.01, what='end')\n")
    assert done.returncode == 1 and "late again" in done.stdout
    assert flaky(tmp_path) == []


@pytest.mark.parametrize(
    "body",
    [
        "assert again('lost'), 'a pod was lost'",
        # A promise broken on the way out of a missed wait, and a wait missed on the way out of a broken promise.
        "try: late('slow')\n    finally: assert again('twice'), 'bound twice'",
        "try: assert again('over'), 'over-committed'\n    finally: late('slow')",
        # Neither may be hidden behind the other by raising anew.
        "try: assert again('over'), 'over-committed'\n    except AssertionError as error: raise WaitMissed('end') from error",
        "now = again('never'); wait_until(lambda: now, timeout=0.01, what='third pod', promise='lost')",
        # Only a wait of its own type is one: any other time limit is a promise.
        "if not again('ends'): raise TimeoutError('did not end within five seconds')",
    ],
    ids=["lost", "doubled", "over-committed", "raised from", "waited for", "promise"],
)
def test_a_broken_promise_is_final(gate: Gate, tmp_path: Path, body: str) -> None:
    done = gate(f"@pytest.mark.control_plane\ndef test_safe():\n    {body}\n" + SLOW_WAIT)
    assert done.returncode == 1, done.stdout
    assert "once more" not in done.stdout and flaky(tmp_path) == []


def test_a_promise_broken_while_cleaning_up_after_a_slow_wait_is_final(gate: Gate, tmp_path: Path) -> None:
    leak = "@pytest.fixture\ndef tidy():\n    yield\n    assert again('leak'), 'a reservation is left'\n"
    done = gate(leak + "@pytest.mark.control_plane\ndef test_slow(tidy): late('slow')\n")
    assert done.returncode == 1 and "once more" not in done.stdout
    assert flaky(tmp_path) == []


def test_a_pure_test_is_never_asked_again(gate: Gate, tmp_path: Path) -> None:
    done = gate("def test_pure(): late('slow')\n")
    assert done.returncode == 1 and "1 failed" in done.stdout and "once more" not in done.stdout
    assert flaky(tmp_path) == []


def test_more_than_two_slow_waits_fail(gate: Gate, tmp_path: Path) -> None:
    three = "".join(f"@pytest.mark.live\ndef test_{name}(): late('{name}')\n" for name in "abc")
    done = gate(three)
    assert done.returncode == 1 and "3 missed waits in one gate are more than 2" in done.stdout
    assert flaky(tmp_path) == []


def test_slow_waits_count_over_all_parts_of_a_gate(gate: Gate, tmp_path: Path) -> None:
    two = "".join(f"@pytest.mark.live\ndef test_{name}(): late('{name}')\n" for name in "ab")
    assert gate(two).returncode == 0 and len(flaky(tmp_path)) == 2
    done = gate(SLOW_WAIT)
    assert done.returncode == 1 and "3 missed waits in one gate" in done.stdout


def test_what_a_shared_fixture_missed_counts_once(gate: Gate, tmp_path: Path) -> None:
    shared = "@pytest.fixture(scope='module')\ndef program(): late('ready', 'ready program')\n"
    four = "".join(f"@pytest.mark.live\ndef test_{name}(program): pass\n" for name in "abcd")
    done = gate(shared + four)
    assert done.returncode == 0, done.stdout
    assert len({line.split("\t")[0] for line in flaky(tmp_path)}) == 1


@pytest.mark.parametrize(("cause", "code"), [("", 1), ("the disk was full", 0)])
def test_a_test_that_was_flaky_before_needs_a_cause_on_its_page(gate: Gate, cause: str, code: int) -> None:
    done = gate(SLOW_WAIT, known=f"| `test_it.py::test_slow` | 2026-11-19 | {cause} |\n")
    assert done.returncode == code, done.stdout
    assert ("has no cause for it" in done.stdout) == (code == 1)


def test_a_run_that_was_not_finished_is_not_saved_by_a_second(gate: Gate) -> None:
    assert gate(SLOW_WAIT + GOOD, "-x").returncode != 0


def test_nothing_chosen_is_told_apart(gate: Gate) -> None:
    assert gate(GOOD, "-k", "nothing").returncode == pytest.ExitCode.NO_TESTS_COLLECTED
