"""No line of a block of commands is left unrun: each has its test, and the gate runs that test."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable

import pytest

from examples import lines
from examples.lines import GATE, Line, every_line, runner
from examples.transcripts import PAGES, REPOSITORY, blocks, name_of

RUN_BY = {
    "tests/examples/": "make test",
    "tests/control_plane/": "make test",
    "tests/testbed_real/": "make testbed",
    "tests/documented/": "make documented",
}


def gate() -> list[str]:
    text = (REPOSITORY / GATE).read_text(encoding="utf-8")
    return [re.sub(r'^part "[^"]*" ', "", line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def collected() -> set[str]:
    """Every test that the gate runs of the files that run lines: none of those that wait for `make soak`."""
    files = sorted({test.partition("::")[0] for line in every_line() if (test := runner(line)) and test != GATE})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not slow", *files]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return {line for line in done.stdout.splitlines() if "::" in line}


def test_there_are_lines_of_every_kind() -> None:
    found = every_line()
    assert len(found) > 60
    assert {"console", "console service", "console slow", "console cluster", "console testbed", "console long"} == {
        line.kind for line in found
    }


def test_every_block_of_commands_has_a_command() -> None:
    empty = [
        (name_of(page), body)
        for page in PAGES
        for kind, body in blocks(page)
        if kind.startswith("console") and "$ " not in body
    ]
    assert empty == []


def test_no_other_page_shows_commands() -> None:
    folders = [REPOSITORY / name for name in ("docs", "examples", "deploy", "benchmarks", "controlplane", "scripts")]
    pages = {*REPOSITORY.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))}
    assert set(PAGES) < pages
    assert [name_of(page) for page in pages - set(PAGES) if any("console" in kind for kind, _ in blocks(page))] == []


def test_every_line_is_run_by_a_test_that_the_gate_runs(collected: set[str]) -> None:
    unrun = [str(line) for line in every_line() if not _is_run(line, collected.__contains__)]
    assert unrun == []


def test_a_line_that_no_test_runs_is_found(collected: set[str]) -> None:
    page = PAGES[0]
    for line in (
        Line(page, "console long", "curl example.com"),
        Line(page, "console cluster", "make coffee"),
        Line(page, "console never", "ecotone policies"),
        Line(page, "console slow", "ecotone policies"),  # a page without slow commands: no test takes them up
    ):
        assert not _is_run(line, collected.__contains__), line


def _is_run(line: Line, is_collected: Callable[[str], bool]) -> bool:
    test = runner(line)
    if test is None:
        return False
    if test == GATE:
        return line.command in gate()
    target = next(target for folder, target in RUN_BY.items() if test.startswith(folder))
    return target in gate() and is_collected(lines.id_of(line))
