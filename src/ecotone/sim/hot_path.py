"""Which binaries stand in for the modules that a simulation spends its time in.

`scripts/compile.py` translates them to C, unchanged, where there is a C compiler. What it makes lies in a folder named after
a digest of the sources it was made from, and only the folder whose name fits the sources of this moment is used: a binary
never stands in for a source that has changed since. Without one the sources themselves run, with the same results to the
byte, several times slower. ECOTONE_PURE_PYTHON=1 asks for the sources whatever is there.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

MODULES = (
    "kernel", "cpu", "network", "randomness", "call_tree", "cluster", "parts", "recorder", "flow", "users",
)  # fmt: skip
GROUP = "ecotone.sim.hot"
FOLDER = "binaries"
SWITCH = "ECOTONE_PURE_PYTHON"


def place(package: Path) -> Path:
    """Where the binaries of the sources as they are now belong."""
    digest = blake2b(EXTENSION_SUFFIXES[0].encode(), digest_size=10)
    for name in MODULES:
        source = (package / f"{name}.py").read_bytes()
        digest.update(b"%d " % len(source) + source)
    return package / FOLDER / digest.hexdigest()


def binaries(package: Path) -> Path | None:
    """The folder to import from before the package's own; None: there is none, it is out of date, or not wanted."""
    if os.environ.get(SWITCH, "") not in ("", "0") or not (package / FOLDER).is_dir():
        return None
    try:
        folder = place(package)
    except OSError:  # sources were left out of this installation: nothing says what the binaries are made from
        return None
    return folder if folder.is_dir() else None
