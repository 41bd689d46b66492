"""Every command that the documentation shows: run and compared, or marked as one that cannot be run here, and then checked.

Four kinds of blocks hold commands, each line of which begins with `$ `:

    ```console            is run by these tests, in a folder with the page's own files, and must print what the page shows;
    ```console slow       is run by `make soak`, and must end well;
    ```console cluster    needs a live cluster, root or a registry;
    ```console long       takes longer than even that, or runs until it is ended.

Of the last three, every `ecotone` line must be one that the command line understands, and every other one must name what
is there.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from examples.transcripts import misunderstood, renewed, run, steps

ROOT = Path(__file__).parents[2]
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [*DOCS, *sorted((ROOT / "examples").glob("*/README.md"))]
TOSCA = ROOT / "examples" / "tosca"
EXPORT = ROOT / "examples" / "03-real-cluster" / "export.yaml"
_FILE = re.compile(r"```(?:python|yaml)\n(# (\S+)\n.*?)```", flags=re.DOTALL)
_FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"(?:sudo )?(?:ecotone|kubectl|make|docker|helm|python|pip) \S")
_SLOW = "console slow"
_UNRUN = (_SLOW, "console cluster", "console long")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind.strip(), body) for kind, body in _FENCED.findall(page.read_text(encoding="utf-8"))]


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


def lay_out(text: str, folder: Path) -> None:
    """The files that a page has, and those it may take to be there."""
    shutil.copy(EXPORT, folder / "cluster.yaml")
    shutil.copytree(TOSCA, folder, dirs_exist_ok=True)
    for content, name in _FILE.findall(text):
        (folder / name).write_text(content, encoding="utf-8")


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
    outside = _FENCED.sub("", text)
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
    text = _FENCED.sub("", page.read_text(encoding="utf-8"))
    # Where a sentence only names a verb, or leaves a word to the reader, no more than verb and options can be asked for.
    quoted = [line.split("|")[0] for line in re.findall(r"`(ecotone [^`]*)`", text) if "…" not in line]
    troubles = {line: misunderstood(line) for line in quoted}
    assert {line: trouble for line, trouble in troubles.items() if trouble and trouble.startswith("No such")} == {}


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
