"""A new checkout's set-up brings what running needs and no more, and the ways to have the command everywhere work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from examples.lines import COMMAND, lines_of
from examples.transcripts import REPOSITORY
from missing import need_programs

LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "report", "binaries", "__pycache__", "tests", "controlplane")
MEGABYTE = 1 << 20


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    need_programs(["make", "cc"], hint="build-essential has them")
    return Path(shutil.copytree(REPOSITORY, tmp_path / "checkout", ignore=LEFT_OUT))


def sh(line: str, cwd: Path, **environment: str) -> str:
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "PYTHONPATH"))}
    done = subprocess.run(
        line,
        cwd=cwd,
        env={**outer, **environment},
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, f"{line}: {done.stdout[-1000:]}{done.stderr[-3000:]}"
    return done.stdout.strip()


def test_a_new_checkout_is_set_up_with_what_running_needs(checkout: Path, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    sh(f"make setup PYTHON={sys.executable}", checkout, TMPDIR=str(tmp_path / "scratch"))
    assert list((tmp_path / "scratch").iterdir()) == []
    asked = "import importlib.util as u; print([n for n in {!r} if u.find_spec(n)])"
    tools = ("mypy", "mypyc", "hatchling", "pytest", "ruff", "envoy", "schemathesis", "distributed")
    assert sh(f'.venv/bin/python -c "{asked.format(tools)}"', checkout) == "[]"
    compiled = "from ecotone.sim import COMPILED; print(COMPILED)"
    assert str(checkout) in sh(f'.venv/bin/python -c "{compiled}"', checkout)
    assert sh(".venv/bin/ecotone --version", checkout)
    files = (file for file in (checkout / ".venv").rglob("*") if file.is_file() and not file.is_symlink())
    assert sum(file.stat().st_size for file in files) < 340 * MEGABYTE


@pytest.mark.parametrize("program", ["uv", "pipx"])
def test_the_command_is_installed_and_removed_as_documented(program: str, checkout: Path, tmp_path: Path) -> None:
    folder, links = tmp_path / "tools", tmp_path / "bin"
    here = {
        "UV_TOOL_DIR": str(folder), "UV_TOOL_BIN_DIR": str(links), "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_PYTHON": sys.executable, "PIPX_HOME": str(folder), "PIPX_BIN_DIR": str(links),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }  # fmt: skip
    install, uninstall = [line.command for line in lines_of(COMMAND) if line.command.startswith(f"{program} ")]
    lend = f"scripts/aside {sys.executable} requirements/install.lock"
    sh(f"{lend} {install}", checkout, **here)
    assert {"ecotone", "kubectl-ecotone"} <= {link.name for link in links.iterdir()}
    assert "kube-default" in sh(f"{links}/ecotone policies", tmp_path)
    sh(f"{lend} {uninstall}", checkout, **here)
    assert not list(links.glob("*ecotone"))
