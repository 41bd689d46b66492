"""YAML out: small, fast and unambiguous.

Whatever is written here must mean the same to every reader, old (where `on` is true and `1:30` a number) and new. So a
string goes out bare only when no dialect could take it for something else; everything else is quoted as JSON, which all
dialects share. Mappings keep their order; nothing depends on the machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(:[A-Za-z0-9_./@+-]+)*")
_QUANTITY = re.compile(r"[1-9][0-9]*(m|k|M|G|Ki|Mi|Gi|Ti)")
_WORDS = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "infinity", "none"])


@lru_cache(maxsize=65536)
def text(value: str) -> str:
    """A string as YAML, on one line."""
    if _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if _QUANTITY.fullmatch(value):
        return value
    if '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    quoted = json.dumps(value, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escaped, quoted))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return f"\\u{ord(character):04X}" if ord(character) < 0x10000 else f"\\U{ord(character):08X}"


def scalar(value: Any) -> str:
    if isinstance(value, str):
        return text(value)
    return json.dumps(value)


def document(data: Any) -> str:
    """One YAML document, without a separator."""
    lines: list[str] = []
    _block(data, "", lines)
    return "\n".join(lines) + "\n"


def documents(items: Iterable[Any]) -> str:
    """A multi-document stream."""
    return "".join(f"---\n{document(item)}" for item in items)


def _block(data: Any, indent: str, lines: list[str]) -> None:
    if isinstance(data, dict) and data:
        for key, value in data.items():
            _entry(f"{indent}{text(str(key))}:", value, indent, lines)
    elif isinstance(data, list) and data:
        for value in data:
            _item(value, indent, lines)
    else:
        lines.append(f"{indent}{scalar(data)}")


def _entry(head: str, value: Any, indent: str, lines: list[str]) -> None:
    if isinstance(value, dict) and value:
        lines.append(head)
        _block(value, indent + "  ", lines)
    elif isinstance(value, list) and value:
        lines.append(head)
        _block(value, indent, lines)
    else:
        lines.append(f"{head} {scalar(value)}")


def _item(value: Any, indent: str, lines: list[str]) -> None:
    """A list element: its first line stands beside the dash."""
    if isinstance(value, dict | list) and value:
        start = len(lines)
        _block(value, indent + "  ", lines)
        lines[start] = f"{indent}- {lines[start][len(indent) + 2 :]}"
    else:
        lines.append(f"{indent}- {scalar(value)}")
