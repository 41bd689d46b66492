"""The commands that a page shows, run for real.

A page holds ```console blocks: lines that start with `$ ecotone` and below each what it prints. Run with
ECOTONE_UPDATE_EXAMPLES=1 to write what is printed now into the pages; otherwise it must be there already.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ecotone.cli import application, main

REPOSITORY = Path(__file__).parents[2]
ROOT = REPOSITORY / "examples"
DOCS = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
PAGES = [*DOCS, *sorted(ROOT.glob("*/README.md"))]
TOSCA = ROOT / "tosca"
EXPORT = ROOT / "03-real-cluster" / "export.yaml"
_BLOCK = re.compile(r"```console\n(.*?)```", flags=re.DOTALL)
_FILE = re.compile(r"```(?:python|yaml)\n(# (\S+)\n.*?)```", flags=re.DOTALL)
FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Step:
    command: str
    shown: str


def readmes() -> list[Path]:
    return sorted(ROOT.glob("[0-9]*/README.md"))


def steps(text: str) -> list[Step]:
    found = []
    for block in _BLOCK.findall(text):
        for part in re.split(r"^(?=\$ )", block, flags=re.MULTILINE):
            if part.startswith("$ "):
                command, _, shown = part.partition("\n")
                found.append(Step(command[2:], shown))
    return found


def blocks(page: Path) -> list[tuple[str, str]]:
    """Every fenced block of a page: what follows the fence, and what is inside."""
    return [(kind.strip(), body) for kind, body in FENCED.findall(page.read_text(encoding="utf-8"))]


def commands(page: Path, kind: str) -> list[str]:
    """The commands in a page's blocks of one kind; a document that a command is fed with belongs to it."""
    parts = [
        part for each, body in blocks(page) if each == kind for part in re.split(r"^\$ ", body, flags=re.MULTILINE)
    ]
    return [
        re.split(r"\s+# ", part.rstrip())[0] if "\n" not in part.rstrip() else part.rstrip() for part in parts if part
    ]


def lay_out(text: str, folder: Path) -> None:
    """The files that a page has, and those it may take to be there."""
    shutil.copy(EXPORT, folder / "cluster.yaml")
    shutil.copytree(TOSCA, folder, dirs_exist_ok=True)
    for content, name in _FILE.findall(text):
        (folder / name).write_text(content, encoding="utf-8")


def healthy(address: str) -> bool:
    """True if the program that listens there says it is well."""
    try:
        with urllib.request.urlopen(f"http://{address}/healthz", timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def name_of(page: Path) -> str:
    return str(page.relative_to(REPOSITORY))


def run(command: str, *, notes: bool = True, allowed: Sequence[int] = (0, 1)) -> str:
    """What a terminal would show, notes included; an exit code that is not allowed (0: yes, 1: no) is a failure."""
    command, _, kept = command.partition(" > ")
    program, *arguments = shlex.split(command)
    assert program == "ecotone", command
    shown, data = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(data if kept else shown),
        contextlib.redirect_stderr(shown if notes else io.StringIO()),
    ):
        code = main(arguments)
    assert code in allowed, f"{command}: {shown.getvalue()}"
    if kept:
        Path(kept).write_text(data.getvalue(), encoding="utf-8")
    return shown.getvalue()


def misunderstood(command: str) -> str | None:
    """What the command line would say against a command of ours, without running it; None: nothing."""
    words = shlex.split(command)[1:]
    verb = next((word for word in words if not word.startswith("-")), None)
    here: Any = typer.main.get_command(application(verb))
    context: Any = None
    try:
        while True:
            context = here.make_context(here.name, list(words), parent=context)
            words = [*context._protected_args, *context.args] if hasattr(here, "commands") else []
            if not words:
                return None
            _, here, words = here.resolve_command(context, words)
    except (typer.Exit, typer.Abort, SystemExit):
        return None
    except Exception as error:  # the base of the parser's errors has no name that every version exports
        return str(error) or type(error).__name__


def renewed(text: str, *, allowed: Sequence[int] = (0, 1)) -> str:
    """The page with what its commands print now."""

    def again(block: re.Match[str]) -> str:
        shown = [f"$ {step.command}\n{run(step.command, allowed=allowed)}" for step in steps(block[0])]
        return "```console\n" + "".join(shown) + "```"

    return _BLOCK.sub(again, text)
