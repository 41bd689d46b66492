"""The commands of the documentation that need nothing but this repository are run, and all others are understood.

Blocks of commands, each line of which begins with `$ `; which test runs a line is said in lines.py:

    ```console            is run by these tests, in a folder with the page's own files, and must print what the page shows;
    ```console service    is started by these tests, asked whether it is well, and ended;
    ```console cluster    is run by tests/control_plane/test_pages.py against a real control plane; images and charts by
                          tests/documented;
    ```console testbed    is run by tests/testbed_real/test_as_documented.py, on real nodes;
    ```console slow       is run by tests/documented (`make documented`), and must end well;
    ```console long       takes hours: tests/documented runs the same command, told to do little.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import pytest

from examples.lines import SERVICE, SHOWN, Line, lines_of, pages_of
from examples.transcripts import (
    FENCED,
    PAGES,
    blocks,
    healthy,
    lay_out,
    misunderstood,
    name_of,
    renewed,
    steps,
)

ROOT = Path(__file__).parents[2]
_COMMAND = re.compile(r"(?:sudo )?(?:ecotone|kubectl|make|docker|helm|python|pipx?|uv) \S")
_ELSEWHERE = ("console slow", "console service", "console cluster", "console testbed", "console long")


@pytest.mark.lasting
@pytest.mark.parametrize("page", pages_of(SHOWN), ids=name_of)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lay_out(text, tmp_path)
    now = renewed(text, allowed=(0, 1, 2)).replace(f"{tmp_path.resolve()}/", "")
    if os.environ.get("ECOTONE_UPDATE_EXAMPLES"):
        page.write_text(now, encoding="utf-8")
    assert now == page.read_text(encoding="utf-8")


def test_the_pages_for_a_first_day_run_what_they_show() -> None:
    counts = {page.stem: len(steps(page.read_text(encoding="utf-8"))) for page in PAGES}
    assert counts["own-policy"] >= 4
    assert counts["five-minutes"] >= 5


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_stand_in_blocks_that_say_whether_they_are_run(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    outside = FENCED.sub("", text)
    loose = [line for line in outside.splitlines() if line.startswith("    ") and _COMMAND.match(line.strip())]
    assert loose == []
    hidden = [
        line
        for kind, body in blocks(page)
        if not kind.startswith("console")
        for line in body.splitlines()
        if _COMMAND.match(line.removeprefix("$ "))
    ]
    assert hidden == []
    assert {kind for kind, _ in blocks(page) if kind.startswith("console")} <= {"console", *_ELSEWHERE}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_run_elsewhere_are_understood(page: Path) -> None:
    wrong = []
    for kind, body in blocks(page):
        if kind in _ELSEWHERE:
            lines = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
            assert lines, f"{page.name}: a block of commands without a command"
            wrong += [f"{line}: {trouble}" for line in lines if (trouble := trouble_with(line))]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_inside_sentences_are_understood(page: Path) -> None:
    text = FENCED.sub("", page.read_text(encoding="utf-8"))
    # Where a sentence only names a verb, or leaves a word to the reader, no more than verb and options can be asked for.
    quoted = [line.split("|")[0] for line in re.findall(r"`(ecotone [^`]*)`", text) if "…" not in line]
    troubles = {line: misunderstood(line) for line in quoted}
    assert {line: trouble for line, trouble in troubles.items() if trouble and trouble.startswith("No such")} == {}


@pytest.mark.lasting
@pytest.mark.parametrize("line", lines_of(SERVICE), ids=str)
def test_a_service_is_well_and_ends_when_asked(line: Line, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = shlex.split(re.sub(r"--listen \S+", f"--listen {address}", line.command))
    assert words[0] == "ecotone" and address in words
    with (tmp_path / "log").open("w") as log, subprocess.Popen([sys.executable, "-m", *words], stderr=log) as program:
        try:
            end = monotonic() + 60
            while not healthy(address):
                assert program.poll() is None and monotonic() < end, (tmp_path / "log").read_text()
        finally:
            program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=30) == 0


def trouble_with(line: str) -> str | None:
    """Why a command that is not run could not be run either; None if nothing speaks against it."""
    for part in re.split(r"\s[|]\s", re.split(r"\s<<|\s#\s", line)[0]):
        program, *words = shlex.split(part.removeprefix("sudo "))
        if program == "ecotone":
            trouble = misunderstood(part.removeprefix("sudo ").split(" > ")[0])
        elif program == "make":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
            trouble = None if set(words) <= set(targets) else "no such target"
        elif program == "python":
            files = [word for word in words[2:] if "/" in word]
            there = all((ROOT / word).exists() for word in files) if words[1] == "pytest" else _importable(words[1])
            trouble = None if words[0] == "-m" and there else "no such module or file"
        else:
            trouble = None if program in ("kubectl", "docker", "helm", "pip", "pipx", "uv") else "an unknown program"
        if trouble is not None:
            return trouble
    return None


def _importable(name: str) -> bool:
    return find_spec(name) is not None if name.startswith("ecotone") else (ROOT / name.replace(".", "/")).exists()
