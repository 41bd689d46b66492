"""Real programs beside the control plane: found on PATH or in the cache, else a test is skipped (in CI: fails)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from missing import lacking

CACHE = Path(
    os.environ.get("ECOTONE_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ecotone"
)


def tool(name: str) -> Path:
    """Where this program is."""
    cached = CACHE / "live" / "bin" / name
    found = shutil.which(name) or (str(cached) if os.access(cached, os.X_OK) else None)
    if found is None:
        lacking(f"{name} is missing: scripts/live-tools gets it")
    return Path(found)
