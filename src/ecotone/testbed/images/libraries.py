"""The shared libraries of the machine's own programs, so that an image of one has what it loads."""

from __future__ import annotations

import re
from pathlib import Path

from ecotone.testbed.images.archive import Entry
from ecotone.testbed.processes import run

SYSTEM_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/")
_LIBRARY = re.compile(r"(?:=>\s*)?(/\S+)\s+\(0x")


def libraries(binaries: list[Path]) -> list[Entry]:
    """The system's shared libraries that any of them loads, at the paths where the loader looks."""
    found: dict[str, Path] = {}
    for match in _LIBRARY.finditer(run("ldd", *binaries, check=False)):
        if match[1].startswith(SYSTEM_LIBRARIES):
            found[match[1].lstrip("/")] = Path(match[1]).resolve()
    return [Entry(path, file, 0o755) for path, file in sorted(found.items())]
