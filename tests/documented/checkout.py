"""A copy of the sources as somebody else has them: without environments and without what was made in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from examples.transcripts import REPOSITORY
from missing import need_programs

LEFT_OUT = (".*", "build", "dist", "report", "__pycache__", "tests", "controlplane")
BINARIES = "binaries"


def checkout(folder: Path, *, compiled: bool = False) -> Path:
    """``compiled``: with what this machine has compiled of these very sources, where something else is tried than compiling."""
    need_programs(["make", "cc"], hint="build-essential has them")
    shutil.copytree(REPOSITORY, folder, ignore=shutil.ignore_patterns(*LEFT_OUT, *(() if compiled else (BINARIES,))))
    shutil.copy(REPOSITORY / ".dockerignore", folder)
    return folder


def sh(line: str, cwd: Path, environment: Mapping[str, str] | None = None, *, seconds: float = 600) -> str:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PYTHONPATH"))}
    done = subprocess.run(
        line, cwd=cwd, env={**outer, **(environment or {})}, shell=True, capture_output=True, text=True, check=False,
        timeout=seconds,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: {done.stdout[-1000:]}{done.stderr[-3000:]}"
    return done.stdout.strip()
