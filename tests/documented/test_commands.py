"""Commands that take minutes are run as they are shown; of those that take hours, the same command told to do little."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from examples.lines import COUNTERPART, SLOW, Line, lines_of, pages_of
from examples.transcripts import REPOSITORY, lay_out, name_of, run, steps
from fair.plugin import GATE

MAKE = ("make", "--file", str(REPOSITORY / "Makefile"), "--assume-old=setup")
# What makes a command of the pages small: words that are put behind it.
SMALLER = {
    "ecotone experiment kubedsm-means": ("--quick", "--trials", "1"),
    "python -m benchmarks": ("--small",),
    "make check": ("ARGUMENTS=tests/telemetry",),
    "make soak": ("ARGUMENTS=tests/telemetry",),
    "make bench": ("ARGUMENTS=--small",),
}
# These need no counterpart: they are run as they stand.
WHOLE = (
    "make setup",
    "make develop",
    "make run",
    "make reference",
    "make controlplane",
    "python -m ecotone.experiments.bed.pages docs",
)

WRITTEN = ("docs", "build", "report", "out", ".git")


@pytest.mark.parametrize("page", pages_of(SLOW), ids=name_of)
def test_slow_commands_end_well(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    lay_out(text, tmp_path)
    # A page is read from the top: what its first commands write, the slow ones may read.
    for command in [*(step.command for step in steps(text)), *(line.command for line in lines_of(SLOW, page))]:
        run(command)


@pytest.mark.parametrize("line", lines_of(COUNTERPART), ids=str)
def test_the_small_counterpart_of_a_long_command_ends_well(line: Line, tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "docs", tmp_path / "docs")
    for each in REPOSITORY.iterdir():
        if each.name not in WRITTEN:
            (tmp_path / each.name).symlink_to(each)
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", GATE))}
    done = subprocess.run(
        small(line.command), cwd=tmp_path, env=outer, capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    left = {file for file in (tmp_path / "docs").rglob("*") if file.is_file()}
    for file in left:  # pages that are made from code or results are made as they stand here
        assert file.read_bytes() == (REPOSITORY / file.relative_to(tmp_path)).read_bytes(), file
    assert len(left) > 20


def small(command: str) -> list[str]:
    """What is run instead of a command: the same words, then those that make it small."""
    program, *words = shlex.split(command)
    known = [start for start in (*SMALLER, *WHOLE) if command.startswith(start)]
    assert len(known) == 1, f"{command}: said to be neither small enough nor how to make it so"
    more = SMALLER.get(known[0], ())
    if program == "make":
        return [*(MAKE[:3] if words in (["setup"], ["develop"]) else MAKE), *words, *more]
    return [sys.executable, *(("-m", "ecotone") if program == "ecotone" else ()), *words, *more]
