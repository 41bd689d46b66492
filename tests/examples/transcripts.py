"""The commands an example's README shows, run for real.

A README holds ```console blocks: lines that start with `$ ecotone` and below each what it prints. Run with
ECOTONE_UPDATE_EXAMPLES=1 to write what is printed now into the READMEs; otherwise it must be there already.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from ecotone.cli import main

ROOT = Path(__file__).parents[2] / "examples"
_BLOCK = re.compile(r"```console\n(.*?)```", flags=re.DOTALL)


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


def run(command: str, *, notes: bool = True) -> str:
    """What a terminal would show, notes included; anything but an answer (0: yes, 1: no) is a failure."""
    program, *arguments = shlex.split(command)
    assert program == "ecotone", command
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown if notes else io.StringIO()):
        code = main(arguments)
    assert code in (0, 1), f"{command}: {shown.getvalue()}"
    return shown.getvalue()


def renewed(text: str) -> str:
    """The README with what its commands print now."""

    def again(block: re.Match[str]) -> str:
        shown = [f"$ {step.command}\n{run(step.command)}" for step in steps(block[0])]
        return "```console\n" + "".join(shown) + "```"

    return _BLOCK.sub(again, text)
