"""Python files compiled ahead, so that a program in an image starts on a small node in seconds.

An image's file system is read-only and its files have no times, so an interpreter would compile everything it imports at every
start, and a node with a quarter of a core takes half a minute for that. Compiled files that are told never to look at their
source (PEP 552) need no times. What this machine has compiled already is taken over.
"""

from __future__ import annotations

import importlib.util
import marshal
import struct
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from ecotone.testbed.images.archive import Entry

_UNCHECKED = 0b01
_HEADER = struct.Struct("<4sIII")


def compiled(entries: list[Entry]) -> Iterator[Entry]:
    """The compiled file of every Python file among them, at the place where an interpreter looks for it."""
    for entry in entries:
        if entry.path.endswith(".py") and isinstance(entry.content, Path):
            code = _known(entry.content) or _compiled(entry.content, entry.path)
            if code is not None:
                where = PurePosixPath(importlib.util.cache_from_source(entry.path))
                yield Entry(str(where), _header(entry.content) + code)


def _header(source: Path) -> bytes:
    digest = importlib.util.source_hash(source.read_bytes())
    return importlib.util.MAGIC_NUMBER + struct.pack("<I", _UNCHECKED) + digest


def _known(source: Path) -> bytes | None:
    """What an earlier import left beside the source, if it is still that of this very file."""
    cached = Path(importlib.util.cache_from_source(str(source)))
    try:
        content, status = cached.read_bytes(), source.stat()
    except OSError:
        return None
    if len(content) <= _HEADER.size:
        return None
    magic, flags, modified, size = _HEADER.unpack_from(content)
    same = (magic, flags, modified, size) == (
        importlib.util.MAGIC_NUMBER, 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF,
    )  # fmt: skip
    return content[_HEADER.size :] if same else None


def _compiled(source: Path, path: str) -> bytes | None:
    """None for files that are no Python of this version, such as a compiler's own test data."""
    try:
        return marshal.dumps(compile(source.read_bytes(), f"/{path}", "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        return None
