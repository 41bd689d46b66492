"""Lines of a chart's template that are there only if a value is set, found by making the text with and without it.

What an option adds to the text that is made without any option gets a condition. Where several options add something at the
same line, what they begin with alike (`volumes:`) stands once, under either's condition.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from itertools import takewhile


def with_conditions(plain: str, optional: Mapping[str, str]) -> str:
    """`optional`: the text that each value, set alone, would give."""
    lines = plain.splitlines(keepends=True)
    added: list[dict[str, list[str]]] = [{} for _ in range(len(lines) + 1)]
    for value, text in optional.items():
        for place, block in _added(lines, text.splitlines(keepends=True)).items():
            added[place][value] = block
    written = []
    for place, blocks in enumerate(added):
        written += _conditional(blocks)
        written += lines[place : place + 1]
    return "".join(written)


def _added(lines: list[str], more: list[str]) -> dict[int, list[str]]:
    found = {}
    for what, start, end, first, last in SequenceMatcher(None, lines, more, autojunk=False).get_opcodes():
        if what == "insert":
            found[start] = more[first:last]
        elif what != "equal":
            raise ValueError(f"a value takes lines away: {lines[start:end]}")
    return found


def _conditional(blocks: Mapping[str, list[str]]) -> list[str]:
    if not blocks:
        return []
    common = [same[0] for same in takewhile(lambda same: len(set(same)) == 1, zip(*blocks.values(), strict=False))]
    if len(blocks) == 1 or not common:
        return [line for value, block in blocks.items() for line in _if(f".Values.{value}", block)]
    either = "or " + " ".join(f".Values.{value}" for value in blocks)
    inner = [line for value, block in blocks.items() for line in _if(f".Values.{value}", block[len(common) :])]
    return _if(either, [*common, *inner])


def _if(condition: str, lines: list[str]) -> list[str]:
    return [f"{{{{- if {condition} }}}}\n", *lines, "{{- end }}\n"] if lines else []
