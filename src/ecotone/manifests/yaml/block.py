"""The YAML that kubectl writes, read without a YAML library: nested blocks of short texts, and nothing else.

A program that starts reads one file before it can ask its first question, its kubeconfig, and loading a library for it
takes longer than everything else up to there. What is read here is what `positions` would read; at the first thing that is
out of the ordinary (a number, a comment, an anchor, a flow, text over several lines) the answer is None, and the caller
asks `positions`, which can also say what is wrong, and where.
"""

from __future__ import annotations

import re
from typing import Any

_LINE = re.compile(r"( *)((?:- )*)([A-Za-z][A-Za-z0-9-]*):(?: (\S.*))?")
_TEXT = re.compile(r"[A-Za-z/][A-Za-z0-9/+=_.@:-]*(?<!:)")
_HEX = re.compile(r"[0-9][0-9a-f]*[abcdf][0-9a-f]*")
_QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\\\n]*)\"")
_OTHER_THAN_TEXT = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_EMPTY: dict[str, Any] = {"{}": dict, "[]": list}

Line = tuple[int, str, str | None]


class _UnusualError(Exception):
    """Something that only a YAML library answers for."""


def read_blocks(content: bytes) -> dict[str, Any] | None:
    """A mapping; None if the file holds anything but nested mappings, lists of mappings and plain texts."""
    try:
        lines = _lines(content.decode("ascii"))
        found, end = _mapping(lines, 0, 0)
    except (UnicodeDecodeError, _UnusualError):
        return None
    return found if end == len(lines) else None


def _lines(text: str) -> list[Line]:
    """Indentation, key and value of every line; a dash is a line of its own, two columns before what it introduces."""
    found: list[Line] = []
    for line in text.removesuffix("\n").split("\n"):
        match = _LINE.fullmatch(line)
        if match is None or not line.isprintable():
            raise _UnusualError
        indent = len(match[1])
        for _ in range(len(match[2]) // 2):
            found.append((indent, "-", None))
            indent += 2
        found.append((indent, match[3], match[4]))
    return found


def _mapping(lines: list[Line], at: int, indent: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    while at < len(lines) and lines[at][0] == indent and lines[at][1] != "-":
        _, key, text = lines[at]
        if key in found:
            raise _UnusualError
        found[key], at = _below(lines, at + 1, indent) if text is None else (_scalar(text), at + 1)
    if at < len(lines) and lines[at][0] > indent:
        raise _UnusualError
    return found, at


def _below(lines: list[Line], at: int, indent: int) -> tuple[Any, int]:
    """What a key without a value on its line introduces; a list may stand as far left as the key."""
    if at == len(lines):
        raise _UnusualError
    column, key, _ = lines[at]
    if key == "-" and column >= indent:
        return _sequence(lines, at, column)
    if column <= indent:
        raise _UnusualError
    return _mapping(lines, at, column)


def _sequence(lines: list[Line], at: int, indent: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    while at < len(lines) and lines[at][:2] == (indent, "-"):
        if lines[at + 1][1] == "-":
            raise _UnusualError
        item, at = _mapping(lines, at + 1, indent + 2)
        found.append(item)
    return found, at


def _scalar(text: str) -> Any:
    if text in _EMPTY:
        return _EMPTY[text]()
    quoted = _QUOTED.fullmatch(text)
    if quoted is not None:
        return quoted[1] if quoted[1] is not None else quoted[2]
    plain = _TEXT.fullmatch(text) is not None and text.lower() not in _OTHER_THAN_TEXT
    if not plain and _HEX.fullmatch(text) is None:
        raise _UnusualError
    return text
