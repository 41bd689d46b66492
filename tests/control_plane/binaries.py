"""Where the real control plane's binaries are."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@functools.cache
def directory() -> Path | None:
    """The directory with all binaries, or None when some are missing; nothing is built here."""
    found = subprocess.run([ROOT / "scripts" / "controlplane", "--find"], capture_output=True, text=True, check=False)
    lines = found.stdout.split()
    return Path(lines[-1]) if found.returncode == 0 and lines else None
