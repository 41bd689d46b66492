"""Templates with mistakes: every mistake is reported, at its exact place, and nothing else happens.

`broken/expected.txt` holds the complete report of every file. It was read line by line against the files; a change in
it is a change of what people see.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ecotone.model.errors import InputError
from ecotone.tosca import TemplateError, load_application

FOLDER = Path(__file__).parent / "broken"
FILES = sorted(FOLDER.glob("*.yaml"))
EXPECTED: dict[str, list[str]] = {}
for line in (FOLDER / "expected.txt").read_text(encoding="utf-8").splitlines():
    EXPECTED.setdefault(line.split(":", 1)[0], []).append(line)


def problems(name: str, monkeypatch: pytest.MonkeyPatch) -> list[InputError]:
    monkeypatch.chdir(FOLDER)
    with pytest.raises(InputError) as caught:
        load_application(name)
    return list(caught.value.problems) if isinstance(caught.value, TemplateError) else [caught.value]


def test_the_suite_is_as_large_as_promised() -> None:
    assert len(FILES) >= 60
    assert {file.name for file in FILES} == set(EXPECTED)


@pytest.mark.parametrize("name", [file.name for file in FILES])
def test_every_error_is_reported_at_its_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [str(problem) for problem in problems(name, monkeypatch)] == EXPECTED[name]


@pytest.mark.parametrize("name", [file.name for file in FILES])
def test_the_place_is_where_the_offending_word_stands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    for problem in problems(name, monkeypatch):
        word = re.match(
            r"(?:unknown [\w ,]+|the (?:key|capability|constraint|pattern|file|image|tag)) `([^`]*)`", problem.message
        )
        if word is None:
            continue
        assert problem.line is not None
        assert problem.column is not None
        found = lines[problem.line - 1][problem.column - 1 :].lstrip("'\"")
        assert found.startswith(word[1]) or "redefined" in problem.message or "lacks" in problem.message, str(problem)


@pytest.mark.lasting
def test_the_command_prints_all_of_them_and_leaves_with_two() -> None:
    command = [sys.executable, "-c", "import sys; from ecotone.cli import main; sys.exit(main())"]
    for verb in ("validate", "compile", "graph"):
        done = subprocess.run(
            [*command, "tosca", verb, "many-at-once.yaml"],
            cwd=FOLDER, capture_output=True, text=True, env=dict(os.environ), timeout=60,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.splitlines() == EXPECTED["many-at-once.yaml"]


@pytest.mark.parametrize("name", ["yaml-open-bracket.yaml", "yaml-empty.yaml", "import-itself.yaml"])
def test_no_traceback_for_unreadable_files(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from ecotone.cli import main; sys.exit(main())", "tosca", "validate", name],
        cwd=FOLDER, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.splitlines() == EXPECTED[name]
