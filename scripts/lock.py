"""Resolves what pyproject.toml names into requirements/*.lock: one file for each purpose, every package with its hashes.

    python scripts/lock.py              everything anew
    python scripts/lock.py NAME...      only these packages move (and what they take along)
    python scripts/lock.py --same       nothing moves: after a group has changed

All groups are resolved together first, so that a package has the same version in all of them. Files name no index: packages
come from wherever this machine gets them, and are told by their hashes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
SCRATCH = ROOT / "build/lock"
TOGETHER = "together.txt"
COMPILE = [
    str(Path(sys.executable).parent / "pip-compile"), "--quiet", "--allow-unsafe", "--strip-extras",
    "--no-emit-index-url", "--no-emit-find-links", "--no-emit-trusted-host", "--pip-args", "--only-binary :all:",
]  # fmt: skip
_PIN = re.compile(r"^([A-Za-z0-9._-]+==[^ ;\\]+)", flags=re.MULTILINE)


def groups(project: dict[str, Any]) -> dict[str, list[str]]:
    """Requirements by purpose, in the words of pyproject.toml."""
    named = project["dependency-groups"]
    return {"run": project["project"]["dependencies"], **{name: flat(named, name) for name in named}}


def flat(named: dict[str, list[Any]], name: str) -> list[str]:
    """A group with those that it includes."""
    return [
        requirement
        for entry in named[name]
        for requirement in (flat(named, entry["include-group"]) if isinstance(entry, dict) else [entry])
    ]


def resolve(sources: list[str], out: Path, *options: str) -> None:
    environment = {**os.environ, "CUSTOM_COMPILE_COMMAND": "make lock"}
    command = [*COMPILE, *options, "--output-file", str(out), *sources]
    subprocess.run(command, cwd=SCRATCH, env=environment, check=True)  # noqa: S603 - pip-compile, with words of this file


def main(arguments: list[str]) -> None:
    wanted = groups(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    SCRATCH.mkdir(parents=True, exist_ok=True)
    for name, requirements in wanted.items():
        (SCRATCH / f"{name}.in").write_text("".join(f"{each}\n" for each in requirements), encoding="utf-8")
    kept = {pin for lock in LOCKS.glob("*.lock") if lock.stem in wanted for pin in _PIN.findall(lock.read_text())}
    (SCRATCH / TOGETHER).write_text("\n".join(sorted(kept)), encoding="utf-8")
    moving = ["--upgrade"] if not arguments else [f"--upgrade-package={name}" for name in arguments if name != "--same"]
    resolve([f"{name}.in" for name in wanted], SCRATCH / TOGETHER, "--no-annotate", *moving)
    for name in wanted:
        lock = LOCKS / f"{name}.lock"
        # Hashes of versions that stay are taken from the file as it is.
        resolve([f"{name}.in"], lock, "--generate-hashes", "--constraint", TOGETHER)
        lines = lock.read_text(encoding="utf-8").splitlines(keepends=True)
        lock.write_text("".join(line for line in lines if f"-c {TOGETHER}" not in line), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
