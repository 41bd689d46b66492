"""A new checkout's set-up brings what running needs and no more, and the ways to have the command everywhere work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from documented.checkout import checkout, sh
from examples.lines import COMMAND, lines_of

MEGABYTE = 1 << 20


def test_a_new_checkout_is_set_up_with_what_running_needs(tmp_path: Path) -> None:
    sources = checkout(tmp_path / "checkout")
    (tmp_path / "scratch").mkdir()
    sh(f"make setup PYTHON={sys.executable}", sources, {"TMPDIR": str(tmp_path / "scratch")})
    assert list((tmp_path / "scratch").iterdir()) == []
    asked = "import importlib.util as u; print([n for n in {!r} if u.find_spec(n)])"
    tools = ("mypy", "mypyc", "hatchling", "pytest", "ruff", "envoy", "schemathesis", "distributed")
    assert sh(f'.venv/bin/python -c "{asked.format(tools)}"', sources) == "[]"
    compiled = "from ecotone.sim import COMPILED; print(COMPILED)"
    assert str(sources) in sh(f'.venv/bin/python -c "{compiled}"', sources)
    assert sh(".venv/bin/ecotone --version", sources)
    files = (file for file in (sources / ".venv").rglob("*") if file.is_file() and not file.is_symlink())
    assert sum(file.stat().st_size for file in files) < 340 * MEGABYTE


@pytest.mark.parametrize("program", ["uv", "pipx"])
def test_the_command_is_installed_and_removed_as_documented(program: str, tmp_path: Path) -> None:
    sources = checkout(tmp_path / "checkout", compiled=True)
    folder, links = tmp_path / "tools", tmp_path / "bin"
    here = {
        "UV_TOOL_DIR": str(folder), "UV_TOOL_BIN_DIR": str(links), "UV_CACHE_DIR": str(tmp_path / "cache"),
        "UV_PYTHON": sys.executable, "PIPX_HOME": str(folder), "PIPX_BIN_DIR": str(links),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }  # fmt: skip
    install, uninstall = [line.command for line in lines_of(COMMAND) if line.command.startswith(f"{program} ")]
    lend = f"scripts/aside {sys.executable} requirements/install.lock"
    sh(f"{lend} {install}", sources, here)
    assert {"ecotone", "kubectl-ecotone"} <= {link.name for link in links.iterdir()}
    assert "kube-default" in sh(f"{links}/ecotone policies", tmp_path)
    sh(f"{lend} {uninstall}", sources, here)
    assert not list(links.glob("*ecotone"))
