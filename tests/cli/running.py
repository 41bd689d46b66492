"""The command line in-process: what it prints, what it says, and its exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ecotone.cli import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


def runner(capfd) -> Run:
    def run(*arguments: str) -> Result:
        code = main([str(each) for each in arguments])
        captured = capfd.readouterr()
        return Result(code, captured.out, captured.err)

    return run
