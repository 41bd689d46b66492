"""All errors of a template at once.

A person who mends a file wants the whole list, not one error per attempt. Every stage of the reader therefore reports
into one `Problems` and carries on with what is still sound; only at the end is everything raised together, in the order
of the file. Notes are the other half: what was read and deliberately not acted upon.
"""

from __future__ import annotations

from collections.abc import Iterable

from ecotone.manifests.spelling import did_you_mean
from ecotone.manifests.yaml.positions import Node
from ecotone.model.errors import InputError

_MOST_CANDIDATES = 50_000


class TemplateError(InputError):
    """Everything that is wrong with a template; its text is one line per error."""

    def __init__(self, problems: list[InputError]) -> None:
        first = problems[0]
        super().__init__(first.message, file=first.file, line=first.line, column=first.column, hint=first.hint)
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(InputError.__str__(problem) for problem in self.problems)


class Problems:
    """Where every stage reports; keeps the order of files as they were first seen."""

    def __init__(self) -> None:
        self._errors: dict[tuple[str | None, int | None, int | None, str], InputError] = {}
        self._files: list[str] = []
        self._candidates = 0
        self.notes: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._errors)

    def __len__(self) -> int:
        return len(self._errors)

    def saw_file(self, name: str) -> None:
        if name not in self._files:
            self._files.append(name)

    def add(self, error: InputError) -> None:
        self._errors.setdefault((error.file, error.line, error.column, error.message), error)

    def report(self, at: Node, message: str, *, hint: str | None = None) -> None:
        self.add(at.error(message, hint=hint))

    def unknown(self, at: Node, noun: str, word: str, valid: Iterable[str], *, of: str = "") -> None:
        """An unknown name: the word itself and the nearest valid one."""
        self.report(at, f"unknown {noun} `{word}`{of and ' ' + of}", hint=self._suggest(word, list(valid)))

    def _suggest(self, word: str, valid: list[str]) -> str | None:
        """Looking for near words costs time per candidate; a file full of errors must not buy hours of it."""
        self._candidates += len(valid)
        if self._candidates > _MOST_CANDIDATES:
            return None
        return did_you_mean(word, valid)

    def note(self, at: Node, message: str) -> None:
        note = f"{at.file}:{at.line}:{at.column}: {message}"
        if note not in self.notes:
            self.notes.append(note)

    def errors(self) -> list[InputError]:
        rank = {name: position for position, name in enumerate(self._files)}
        return sorted(
            self._errors.values(),
            key=lambda e: (rank.get(e.file or "", len(rank)), e.line or 0, e.column or 0, e.message),
        )

    def raise_if_any(self) -> None:
        if self._errors:
            raise TemplateError(self.errors())
