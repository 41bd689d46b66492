"""Every command that the documentation shows is run: here, or where there is what it needs.

Blocks of commands, each line of which begins with `$ `:

    ```console            is run by these tests, in a folder with the page's own files, and must print what the page shows;
    ```console service    is started by these tests, asked whether it is well, and ended;
    ```console slow       is run by `make soak`, and must end well;
    ```console cluster    is run by tests/control_plane/test_pages.py against a real control plane;
    ```console testbed    is run by tests/testbed_real/test_as_documented.py, on real nodes;
    ```console long       takes hours, or is what runs these tests: only its small counterpart is run (`make -n`, collecting
                          the tests), and where there is none (experiments on the test bed) it must be understood.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from time import monotonic

import pytest

from examples.transcripts import (
    DOCS,
    FENCED,
    PAGES,
    TOSCA,
    blocks,
    commands,
    healthy,
    lay_out,
    misunderstood,
    name_of,
    renewed,
    run,
    steps,
)

ROOT = Path(__file__).parents[2]
_COMMAND = re.compile(r"(?:sudo )?(?:ecotone|kubectl|make|docker|helm|python|pip) \S")
_SLOW = "console slow"
_SERVICE = "console service"
_LONG = "console long"
_UNRUN = (_SLOW, _SERVICE, "console cluster", "console testbed", _LONG)


@pytest.mark.parametrize(
    "page", [page for page in (*DOCS, TOSCA / "README.md") if steps(page.read_text(encoding="utf-8"))], ids=name_of
)
def test_a_page_shows_what_its_commands_print(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    lay_out(text, tmp_path)
    now = renewed(text, allowed=(0, 1, 2)).replace(f"{tmp_path.resolve()}/", "")
    if os.environ.get("ECOTONE_UPDATE_EXAMPLES"):
        page.write_text(now, encoding="utf-8")
    assert now == page.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(kind == _SLOW for kind, _ in blocks(page))], ids=name_of
)
def test_slow_commands_end_well(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lay_out(page.read_text(encoding="utf-8"), tmp_path)
    for kind, body in blocks(page):
        if kind in ("console", _SLOW):
            for line in body.splitlines():
                if line.startswith("$ "):
                    run(line[2:])


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
    assert {kind for kind, _ in blocks(page) if kind.startswith("console")} <= {"console", *_UNRUN}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_that_are_not_run_are_understood(page: Path) -> None:
    wrong = []
    for kind, body in blocks(page):
        if kind in _UNRUN:
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


@pytest.mark.parametrize(
    "line", [line for page in PAGES for line in commands(page, _SERVICE)], ids=lambda line: line.replace(" ", "-")
)
def test_a_service_is_well_and_ends_when_asked(line: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    words = shlex.split(re.sub(r"--listen \S+", f"--listen {address}", line))
    assert words[0] == "ecotone" and address in words
    with (tmp_path / "log").open("w") as log, subprocess.Popen([sys.executable, "-m", *words], stderr=log) as program:
        try:
            end = monotonic() + 60
            while not healthy(address):
                assert program.poll() is None and monotonic() < end, (tmp_path / "log").read_text()
        finally:
            program.send_signal(signal.SIGTERM)
        assert program.wait(timeout=30) == 0


@pytest.mark.parametrize(
    "line",
    [line for page in PAGES for line in commands(page, _LONG) if not line.removeprefix("sudo ").startswith("ecotone")],
)
def test_the_small_counterpart_of_a_long_command_ends_well(line: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    command, folder = counterpart(line), tmp_path if line.endswith(" docs") else ROOT
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    if folder == tmp_path:
        page = "testbed.md"
        assert (tmp_path / "docs" / page).read_text() == (ROOT / "docs" / page).read_text()


def counterpart(line: str) -> list[str]:
    """What is run instead of a command that takes too long: the same program, told to do little."""
    program, *words = shlex.split(line, comments=True)
    if program == "make":
        return ["make", "-n", *words]
    assert program == "python", line
    if words[1] == "pytest":
        return [sys.executable, *words, "--collect-only", "-q"]
    if words[1] == "benchmarks":
        named = "from benchmarks.__main__ import known; import sys; sys.exit(not set(sys.argv[1:]) <= set(known()))"
        return [sys.executable, "-c", named, *words[2:]]
    return [sys.executable, *words]


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
            there = all((ROOT / word).exists() for word in words[2:]) if words[1] == "pytest" else _importable(words[1])
            trouble = None if words[0] == "-m" and there else "no such module or file"
        else:
            trouble = None if program in ("kubectl", "docker", "helm", "pip") else "an unknown program"
        if trouble is not None:
            return trouble
    return None


def _importable(name: str) -> bool:
    return find_spec(name) is not None if name.startswith("ecotone") else (ROOT / name.replace(".", "/")).exists()
