"""The little Markdown that the reference pages need."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Sequence
from typing import Any

WRITTEN = (
    "<!-- Written by `python -m ecotone.cli.reference docs/reference`; change the code it is made from instead. -->"
)


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", WRITTEN, *(part.strip("\n") for part in parts if part.strip())]) + "\n"


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headers, ["---"] * len(headers), *rows]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: object) -> str:
    return f"`{text}`"


def anchor(title: str) -> str:
    """The name under which a heading can be linked to."""
    return re.sub(r"[^a-z0-9 _-]", "", title.lower()).replace(" ", "-")


def prose(docstring: str | None) -> str:
    """A docstring as Markdown: it is written as such, with formulas indented."""
    return inspect.cleandoc(docstring or "").strip()


def value(given: Any) -> str:
    """A default as a file would have it."""
    if given is None:
        return "null"
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, float):
        return f"{given:g}"
    if isinstance(given, tuple | frozenset | list):
        return "[" + ", ".join(value(each) for each in given) + "]"
    return str(given)
