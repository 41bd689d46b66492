"""Which code made a figure: a digest of this package's own files and of what its arithmetic rests on.

A kept run is taken instead of running again only if it is the run that would be made now. The version number alone does
not say that: whoever changes a policy and sweeps again wants the figures of the changed policy.
"""

from __future__ import annotations

import sys
from functools import cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import ecotone

_COUNTS = frozenset({".py", ".so", ".pyd", ".yaml"})
_ARITHMETIC = ("numpy", "scipy", "networkx")


@cache
def code_digest() -> str:
    """The same for the same files, wherever they are installed."""
    return digest_of(Path(ecotone.__file__).parent)


def digest_of(folder: Path) -> str:
    found = blake2b(digest_size=16)
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _COUNTS and path.is_file()):
        content = path.read_bytes()
        found.update(f"{path.relative_to(folder).as_posix()}\x1f{len(content)}\x1f".encode())
        found.update(content)
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    found.update("\x1f".join((python, *map(_version, _ARITHMETIC))).encode())
    return found.hexdigest()


def _version(package: str) -> str:
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
