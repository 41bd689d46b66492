"""The few ways things go wrong, told apart by whose fault it is.

`InputError` is the user's: it names the place and what to write instead, and the command line answers it with one line
and exit code 2. `OutsideError` is the world's (API server, Prometheus): exit code 3. `RestlessError` is a policy's, ours or
somebody else's: exit code 4. Anything else is a bug of ours, has that code too, and keeps its traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class EcotoneError(Exception):
    """Base of every error a person is meant to read."""


class InputError(EcotoneError):
    """What was given cannot be used: where, why, and what to do about it."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.hint = hint

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.hint})" if self.hint else text


class OutsideError(EcotoneError):
    """The world beyond this program failed: unreachable, refusing, or answering nonsense."""


class RestlessError(EcotoneError):
    """A policy that decides and decides while the clock of the simulator stands still."""


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint naming the closest known word, or None when nothing is close."""
    from difflib import get_close_matches  # most programs end without a mistake

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {near[0]!r}?" if near else None
